/**
 * Modules write SQL once, in what SQLite and PostgreSQL both accept. The few differences are translated here, by word:
 * `min(a, b)` and `max(a, b)` are least and greatest, LIKE ignores case and has no escape character, an INTEGER has
 * 64 bits, a negative LIMIT is none, a list may be empty, or one parameter. Everything else must be written in words
 * that both understand.
 */

/** A statement cut at its placeholders, with the words of PostgreSQL between them. */
export type Template = readonly string[]

const TOKEN = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\w+|\s+|./gs
/** Number of templates kept: lists of placeholders make new ones without end. */
const KEPT = 2_000
const templates = new Map<string, Template>()

/** Returns a statement of a module with its parameters, as a string with the same meaning in PostgreSQL. */
export function toPostgres(sql: string, params: readonly unknown[] = []): string {
  return inlineParameters(templateFor(sql, params), params)
}

/** A template with its parameters written out. */
export function inlineParameters(template: Template, params: readonly unknown[]): string {
  let text = template[0]!
  for (let n = 0; n < params.length; n++) {
    text += (isUnlimited(template, n, params[n]) ? 'ALL' : literal(params[n])) + template[n + 1]!
  }
  return text
}

/** @throws RangeError when these are not the parameters that it has places for */
export function templateFor(sql: string, params: readonly unknown[]): Template {
  const template = templateOf(sql)
  if (template.length - 1 !== params.length) {
    throw new RangeError(`${params.length} parameters for ${template.length - 1} placeholders: ${sql}`)
  }
  return template
}

function templateOf(sql: string): Template {
  let template = templates.get(sql)
  if (!template) {
    if (templates.size >= KEPT) templates.clear()
    template = cut(sql)
    templates.set(sql, template)
  }
  return template
}

const LIMIT = /\bLIMIT\s+$/

/** Whether this is a LIMIT that sets none, which needs another word. */
export function isUnlimited(template: Template, n: number, value: unknown): boolean {
  return typeof value === 'number' && value < 0 && LIMIT.test(template[n]!)
}

function cut(sql: string): Template {
  const tokens = (
    sql
      .replace(NONE, 'IN (NULL)')
      .replaceAll(...LISTED)
      .match(TOKEN) ?? []
  ).filter(token => !token.startsWith('--'))
  /** For each open bracket: the position of `MIN` or `MAX` before it, if any, and whether it has several arguments. */
  const open: { at: number; several: boolean }[] = []
  const template = ['']
  let liked = false
  for (const [at, token] of tokens.entries()) {
    const word = token.toUpperCase()
    if (token === '(') open.push({ at: at - 1, several: false })
    else if (token === ',' && open.length > 0) open.at(-1)!.several = true
    else if (token === ')') {
      const call = open.pop()
      const name = call?.several ? SCALAR[tokens[call.at]?.toUpperCase() ?? ''] : undefined
      if (call && name) tokens[call.at] = name
    } else if (word === 'LIKE') {
      tokens[at] = 'ILIKE'
      liked = true
    } else if (word === 'INTEGER') tokens[at] = 'BIGINT'
    else if (liked && token.trim() !== '') {
      tokens[at] = `${token} ESCAPE ''`
      liked = false
    }
  }
  for (const token of tokens) {
    if (token[0] === '?') template.push(token.slice(1))
    else template[template.length - 1] += token
  }
  return template
}

/** An empty list, which PostgreSQL refuses: nothing is in it. */
const NONE = /(?<!\bNOT\s)\bIN\s*\(\s*\)/gi
/** Expands a JSON array of strings; the column is `value` in both databases. */
const LISTED = ['json_each(?)', 'json_array_elements_text(CAST(? AS JSON))'] as const
const SCALAR: Record<string, string> = { MIN: 'least', MAX: 'greatest' }

/**
 * A value as PostgreSQL reads it, whatever its settings. Texts have no type of their own, so that they take that of what they
 * are compared with or written to; whole numbers are as large as they need to be.
 */
export function literal(value: unknown): string {
  if (value === null || value === undefined) return 'NULL'
  if (typeof value === 'boolean') return value ? '1' : '0'
  if (typeof value === 'bigint') return `(${value})`
  if (typeof value === 'number') return Number.isFinite(value) ? `(${value})` : 'NULL'
  if (typeof value !== 'string') throw new TypeError(`a ${typeof value} cannot be stored`)
  const text = storable(value).replaceAll("'", "''")
  return text.includes('\\') ? `(E'${text.replaceAll('\\', '\\\\')}')` : `('${text}')`
}

/** Stands before what is written in the place of another character: one that Unicode keeps free for such uses. */
const ESCAPE = '\uFDD0'

/** A text as PostgreSQL can hold it, which is all but the character U+0000. */
export function storable(text: string): string {
  if (!text.includes('\0') && !text.includes(ESCAPE)) return text
  return text.replaceAll(ESCAPE, `${ESCAPE}1`).replaceAll('\0', `${ESCAPE}0`)
}

/** The same text as it was given to be stored. */
export function unescapeText(text: string): string {
  return text.includes(ESCAPE) ? text.replaceAll(`${ESCAPE}0`, '\0').replaceAll(`${ESCAPE}1`, ESCAPE) : text
}

/** A step of the schema, written for SQLite, as PostgreSQL takes it. Texts are compared by their bytes, as they are there. */
export function schemaToPostgres(sql: string): string {
  const [words] = templateOf(sql)
  return words!
    .replace(/\bBIGINT PRIMARY KEY AUTOINCREMENT\b/g, 'BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY')
    .replace(/\)\s*STRICT(, WITHOUT ROWID)?;/g, ');')
    .replace(/\bREAL\b/g, 'DOUBLE PRECISION')
    .replace(/\bTEXT\b/g, 'TEXT COLLATE "C"')
}
