import { oneLine, type Scene } from './scene.ts'

/** Maximum number of conversation lines in a section. */
const MAX_LINES = 20
/** Maximum length of a line, in characters. */
const LONGEST = 200

/** Returns a rule-based summary: the content of the request, sorted into the sections that it asks for. */
export function summaryOf({ prompt }: Scene): string {
  const between = (tag: string) => new RegExp(`<${tag}>\\n([\\s\\S]*?)\\n</${tag}>`).exec(prompt)?.[1] ?? ''
  const entries = between('conversation').split('\n')
  const lines = (marks: RegExp) => {
    const found = entries.filter(line => marks.test(line)).map(line => `- ${oneLine(line).slice(0, LONGEST)}`)
    return found.slice(-MAX_LINES).join('\n') || 'none'
  }
  return [
    `## Goal\n${oneLine(between('goal')).slice(0, LONGEST)}`,
    `## Orders and constraints\n${lines(/^\[message to the agent\]/)}`,
    `## Decisions\n${lines(/^\[agent\]/)}`,
    `## Done\n${lines(/^\[(call|result of [^,\]]+)\]/)}`,
    `## Failed\n${lines(/^\[result of .*, an error\]/)}`,
    '## Next\nGo on with the goal.',
  ].join('\n')
}
