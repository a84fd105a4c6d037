import { type Document, isMap, isScalar, Lexer, LineCounter, Parser, parseDocument } from 'yaml'
import { defineError, errorMessage, type Ports } from '#kernel'
import { crashPoint } from '#lib/crash-point'
import { deleteIn, isTree, same, setIn, type Tree } from '#lib/tree'
import { readRegular } from './regular.ts'

const MAX_BYTES = 1024 * 1024
/** Maximum depth of nesting. */
const MAX_DEPTH = 200

/** A file of the project cannot be read or has invalid contents; the message names the file and the line. */
export const BadFileError = defineError({
  code: 'bad_file',
  status: 409,
  exit: 2,
  title: 'Invalid file',
  message: (p: { file: string; line?: number | undefined; problem: string; remedy?: string }) =>
    `${p.file}${p.line ? `:${p.line}` : ''}: ${p.problem}${p.remedy ? `; ${p.remedy}` : ''}.`,
})

/** A YAML mapping with its text, so that errors name lines and writes keep comments. */
export interface YamlFile {
  file: string
  text: string
  document: Document
  values: Tree
  /** Returns the line, from 1, of the value at this path; undefined when the value does not exist. */
  lineOf(path: readonly string[]): number | undefined
}

/**
 * Reads a YAML file that people write: a mapping of at most 1 MiB; an empty or missing file is an empty mapping.
 * @param name name of the file in errors
 * @throws BadFileError with file and line
 */
export async function readYaml(files: Ports['files'], file: string, name = file, known?: YamlFile): Promise<YamlFile> {
  let bytes: Buffer
  try {
    bytes = await readRegular(files, file)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return parseYaml(name, '')
    const remedy = code === 'EACCES' ? 'run svc as the user to whom it belongs, or change its permissions' : ''
    if (code) throw new BadFileError({ file: name, problem: `cannot be read (${code})`, remedy })
    throw new BadFileError({ file: name, problem: errorMessage(error), remedy: 'replace it with a text file' })
  }
  if (bytes.length > MAX_BYTES) throw tooLarge(name)
  const text = bytes.toString('utf8')
  if (!bytes.equals(Buffer.from(text))) throw new BadFileError({ file: name, problem: 'is not UTF-8 text' })
  const plain = text.replace(/^\uFEFF/, '')
  return known?.text === plain ? known : parseYaml(name, plain)
}

/**
 * Parses a string as YAML.
 * @throws BadFileError with the line
 */
export function parseYaml(file: string, text: string): YamlFile {
  const deep = tooDeepAt(text)
  if (deep !== undefined) throw new BadFileError({ file, line: deep, problem: 'is nested too deeply' })
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true, prettyErrors: false })
  const fault = document.errors[0] ?? document.warnings[0]
  if (fault) {
    const several =
      fault.code === 'MULTIPLE_DOCS' && 'begins a second document, but a file may have only one; remove this "---"'
    const problem = several || fault.message.replace(/\.$/, '')
    throw new BadFileError({ file, line: lines.linePos(fault.pos[0]).line, problem })
  }
  let values: unknown
  try {
    values = document.toJS() ?? {}
  } catch (error) {
    throw new BadFileError({ file, problem: (error as Error).message })
  }
  if (typeof values !== 'object' || values === null || Array.isArray(values)) {
    throw new BadFileError({ file, line: 1, problem: 'is not a YAML mapping', remedy: 'write "key: value" lines' })
  }
  const lineOf = (path: readonly string[]) => {
    for (let depth = path.length; depth > 0; depth--) {
      const node = document.getIn(path.slice(0, depth), true) as { range?: [number, number, number] } | undefined
      if (node?.range) return lines.linePos(node.range[0]).line
    }
    return undefined
  }
  const forbidden = forbiddenPath(values)
  if (forbidden) {
    throw new BadFileError({ file, line: lineOf(forbidden), problem: `the key "${forbidden.at(-1)}" is not allowed` })
  }
  return { file, text, document, values: values as Tree, lineOf }
}

/**
 * Returns the line where YAML is nested too deeply. Checked before parsing, because the parser recurses and would
 * overflow the stack.
 */
function tooDeepAt(text: string): number | undefined {
  const parser = new Parser()
  for (const lexeme of new Lexer().lex(text)) {
    Array.from(parser.next(lexeme))
    if (parser.stack.length > MAX_DEPTH) return text.slice(0, parser.offset).split('\n').length
  }
  return undefined
}

/** A change of one value in a file; `undefined` removes the value. */
export interface YamlChange {
  path: readonly string[]
  value: unknown
}

/**
 * Returns the file with changed values; comments, order and indentation stay.
 * @throws BadFileError when the text cannot express exactly the change, as where an anchor would change other keys too
 */
export function editYaml({ file, text }: YamlFile, changes: readonly YamlChange[]): YamlFile {
  const { document, ...parsed } = parseYaml(file, text)
  const values = copyAliases(parsed.values) as Tree
  for (const { path, value } of changes) {
    if (value === undefined) {
      deleteIn(values, path)
      takeAway(document, path)
    } else {
      setIn(values, path, value)
      put(document, path, value)
    }
  }
  const indent = /^( {1,8})[^\s#-]/m.exec(text)?.[1]?.length ?? 2
  const edited = document.contents === null ? text : document.toString({ indent, lineWidth: 0 })
  if (Buffer.byteLength(edited) > MAX_BYTES) throw tooLarge(file)
  const made = parseYaml(file, edited)
  if (same(made.values, values)) return made
  throw new BadFileError({
    file,
    problem: 'cannot be changed automatically without changing other values',
    remedy: 'edit it by hand',
  })
}

/**
 * Sets a value. A value on the way that is not a mapping (`daemon:` with nothing below) is replaced; an empty mapping
 * (`{}`) becomes a block.
 */
function put(document: Document, path: readonly string[], value: unknown): void {
  for (let depth = 0; depth < path.length; depth++) {
    const above = path.slice(0, depth)
    const there = document.getIn(above, true)
    if (isMap(there)) there.flow &&= there.items.length > 0
    else if (depth > 0 && document.hasIn(above)) document.setIn(above, document.createNode({}))
  }
  // A null that is not a node would be written as a key alone: `? key`.
  const isNew = value === null && !isScalar(document.getIn(path, true))
  document.setIn(path, isNew ? document.createNode(null) : value)
}

function takeAway(document: Document, path: readonly string[]): void {
  document.deleteIn(path)
  for (let depth = path.length - 1; depth > 0; depth--) {
    const above = document.getIn(path.slice(0, depth), true)
    if (isMap(above) && above.items.length === 0) document.deleteIn(path.slice(0, depth))
  }
}

/** Copies a value so that places that share an alias get separate objects. */
function copyAliases(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyAliases)
  return isTree(value)
    ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, copyAliases(each)]))
    : value
}

function tooLarge(file: string) {
  return new BadFileError({ file, problem: 'is larger than 1 MiB' })
}

/** Keys that a deep merge must never follow. */
export function isForbiddenKey(key: string): boolean {
  return key === '__proto__' || key === 'constructor' || key === 'prototype'
}

/** Returns the path of a forbidden key in a value, also within its arrays. */
export function forbiddenPath(value: unknown, path: readonly string[] = []): readonly string[] | undefined {
  if (!isTree(value) && !Array.isArray(value)) return undefined
  for (const [key, below] of Object.entries(value)) {
    const at = [...path, key]
    const found = isForbiddenKey(key) ? at : forbiddenPath(below, at)
    if (found) return found
  }
  return undefined
}

/** Parses a value as people write it in a file: `5`, `true`, `null`, `[a, b]`, `{ a: 1 }`, else a string; undefined when it is not valid. */
export function parseValue(text: string): unknown {
  try {
    const { value, ...others } = parseYaml('', `{ value: ${text}\n}`).values
    return Object.keys(others).length > 0 ? text : value
  } catch {
    return undefined
  }
}

/**
 * Replaces a file atomically: writes a temporary file, flushes and renames it. A reader sees the old or the new text,
 * never a part.
 */
export async function replaceFile(files: Ports['files'], file: string, text: string, mode = 0o600): Promise<void> {
  const beside = `${file}.${process.pid}.tmp`
  try {
    const handle = await files.open(beside, 'w', mode)
    try {
      await handle.writeFile(text)
      await handle.sync()
    } finally {
      await handle.close()
    }
    crashPoint?.('file written')
    await files.rename(beside, file)
    crashPoint?.('file renamed')
  } catch (error) {
    await files.rm(beside, { force: true })
    throw error
  }
}
