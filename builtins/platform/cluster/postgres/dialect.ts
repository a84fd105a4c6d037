/**
 * Modules write SQL once, in the part that SQLite and PostgreSQL share. The few differences are translated here, token
 * by token: `min(a, b)` and `max(a, b)` become least and greatest, LIKE ignores case and has no escape character, an
 * INTEGER has 64 bits, a negative LIMIT means no limit, and a list may be empty or one parameter.
 */

/** A statement in PostgreSQL's dialect, split at its placeholders. */
export type Template = readonly string[]

const TOKEN = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\w+|\s+|./gs
/** Maximum number of cached templates: statements with lists have a template for each length. */
const KEPT = 2_000
const templates = new Map<string, Template>()

/** Returns a statement of a module with its parameters, as a string with the same meaning in PostgreSQL. */
export function toPostgres(sql: string, params: readonly unknown[] = []): string {
  return inlineParameters(templateFor(sql, params), params)
}

/** Returns a template with its parameters inlined. */
export function inlineParameters(template: Template, params: readonly unknown[]): string {
  let text = template[0]!
  for (let n = 0; n < params.length; n++) {
    text += (isUnlimited(template, n, params[n]) ? 'ALL' : literal(params[n])) + template[n + 1]!
  }
  return text
}

/** @throws RangeError if the number of parameters differs from the number of placeholders */
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
    if (DEFINITION.test(template[0]!)) template = template.map(columnTypes)
    templates.set(sql, template)
  }
  return template
}

/** Matches the statements by which plugins define tables. */
const DEFINITION = /^\s*(?:CREATE|ALTER)\s/i

const LIMIT = /\bLIMIT\s+$/

/** Returns whether a parameter is a negative LIMIT, which PostgreSQL writes as ALL. */
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

/** Matches an empty list, which PostgreSQL refuses. */
const NONE = /(?<!\bNOT\s)\bIN\s*\(\s*\)/gi
/** Expands a JSON array of strings; the column is `value` in both databases. */
const LISTED = ['json_each(?)', 'json_array_elements_text(CAST(? AS JSON))'] as const
const SCALAR: Record<string, string> = { MIN: 'least', MAX: 'greatest' }

/**
 * Returns a value as an SQL literal that does not depend on the server's settings. Strings are untyped, so they take
 * the type of their context; integers have the type that fits their size.
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

/** Prefix of escaped characters: a noncharacter that Unicode reserves for internal use. */
const ESCAPE = '\uFDD0'

/** Escapes U+0000, which PostgreSQL cannot store. */
export function storable(text: string): string {
  if (!text.includes('\0') && !text.includes(ESCAPE)) return text
  return text.replaceAll(ESCAPE, `${ESCAPE}1`).replaceAll('\0', `${ESCAPE}0`)
}

/** Restores a string that `storable` escaped. */
export function unescapeText(text: string): string {
  return text.includes(ESCAPE) ? text.replaceAll(`${ESCAPE}0`, '\0').replaceAll(`${ESCAPE}1`, ESCAPE) : text
}

/** Translates a schema step from SQLite to PostgreSQL. */
export function schemaToPostgres(sql: string): string {
  return columnTypes(cut(sql)[0]!)
}

/** Replaces types of columns. Strings are compared by their bytes, as in SQLite. */
function columnTypes(sql: string): string {
  return sql
    .replace(/\bBIGINT PRIMARY KEY AUTOINCREMENT\b/g, 'BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY')
    .replace(/\)\s*STRICT(, WITHOUT ROWID)?\s*(;|$)/g, ')$2')
    .replace(/\bREAL\b/g, 'DOUBLE PRECISION')
    .replace(/(?<!\bAS )\bTEXT\b/g, 'TEXT COLLATE "C"')
}
