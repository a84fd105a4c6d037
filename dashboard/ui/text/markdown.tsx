import { lexer, type Token, type Tokens } from 'marked'
import type { ComponentChildren } from 'preact'
import { Code } from './code.tsx'
import { visible } from './format.ts'

/** Protocols of links that can be followed. */
const FOLLOWED = /^(https?|mailto):/i
/** Alignments of table columns, as classes. */
const ALIGNED = { left: '', center: 'middle', right: 'end' } as const

/**
 * Text of a model in Markdown. HTML is shown as text and images as links, so the text can neither run code nor load
 * anything.
 */
export function Markdown({ text }: { text: string }) {
  return <div class="words markdown">{lexer(text).map(block)}</div>
}

function block(token: Token, at: number): ComponentChildren {
  switch (token.type) {
    case 'space':
    case 'def':
      return null
    case 'hr':
      return <hr key={at} />
    case 'code':
      return <Code key={at} value={token.text} label="Code" />
    case 'heading':
      return (
        <p key={at} dir="auto">
          <strong>{inline(token.tokens)}</strong>
        </p>
      )
    case 'blockquote':
      return (
        <blockquote key={at} dir="auto">
          {token.tokens?.map(block)}
        </blockquote>
      )
    case 'list':
      return <List key={at} list={token as Tokens.List} />
    case 'table':
      return <Table key={at} table={token as Tokens.Table} />
    default:
      return (
        <p key={at} dir="auto">
          {span(token, at)}
        </p>
      )
  }
}

function List({ list: { ordered, start, items } }: { list: Tokens.List }) {
  const part = (token: Token, at: number) => (/^(text|checkbox)$/.test(token.type) ? span : block)(token, at)
  const children = items.map(({ tokens }, at) => <li key={at}>{tokens.map(part)}</li>)
  return ordered ? (
    <ol dir="auto" start={start === '' ? 1 : start}>
      {children}
    </ol>
  ) : (
    <ul dir="auto">{children}</ul>
  )
}

function Table({ table: { header, rows } }: { table: Tokens.Table }) {
  return (
    // biome-ignore lint/a11y: what scrolls must be reachable by the keyboard, and is no set of fields.
    <div role="group" class="columns" tabIndex={0} aria-label="Table">
      <table dir="auto">
        <thead>
          <tr>{cells(header, 'th')}</tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>{cells(row, 'td')}</tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function cells(row: readonly Tokens.TableCell[], Cell: 'th' | 'td'): ComponentChildren {
  return row.map(({ tokens, align }, at) => (
    <Cell key={at} class={ALIGNED[align ?? 'left']}>
      {inline(tokens)}
    </Cell>
  ))
}

function inline(tokens: readonly Token[] = []): ComponentChildren {
  return tokens.map(span)
}

function span(token: Token, at: number): ComponentChildren {
  switch (token.type) {
    case 'br':
      return <br key={at} />
    case 'strong':
      return <strong key={at}>{inline(token.tokens)}</strong>
    case 'em':
      return <em key={at}>{inline(token.tokens)}</em>
    case 'del':
      return <del key={at}>{inline(token.tokens)}</del>
    case 'codespan':
      return <code key={at}>{visible(token.text)}</code>
    case 'checkbox':
      return token.checked ? '☑ ' : '☐ '
    case 'link':
    case 'image':
      return <Link key={at} link={token as Tokens.Link} />
    case 'html':
      return visible(token.raw)
    case 'paragraph':
    case 'text':
      return token.tokens ? inline(token.tokens) : visible(token.text)
    default:
      return visible(token.type === 'escape' ? token.text : token.raw)
  }
}

/** A link with its address, because its text may pretend another one. */
function Link({ link: { href, text, raw } }: { link: Tokens.Link }) {
  if (!FOLLOWED.test(href)) return visible(raw)
  const address = (
    <a href={href} target="_blank" rel="noreferrer">
      {visible(href)}
    </a>
  )
  return text === '' || href.endsWith(text) ? (
    address
  ) : (
    <>
      {visible(text)} ({address})
    </>
  )
}
