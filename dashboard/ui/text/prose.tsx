import { visible } from './format.ts'

/** Matches what Markdown emphasizes within a line: headings, bold text and code. Other marks are readable as they are. */
const MARKED = /(^#{1,6} .+$|\*\*[^\s*][^*\n]*\*\*|`[^`\n]+`)/m

/** Text of a model, with headings, bold text and code of Markdown. Never HTML of the text. */
export function Prose({ text }: { text: string }) {
  return (
    <>
      {visible(text)
        .split(MARKED)
        .map((part, at) => (at % 2 === 1 ? <Marked key={at} part={part} /> : part))}
    </>
  )
}

function Marked({ part }: { part: string }) {
  if (part.startsWith('`')) return <code>{part.slice(1, -1)}</code>
  return <strong>{part.startsWith('#') ? part.replace(/^#+ /, '').replaceAll('**', '') : part.slice(2, -2)}</strong>
}
