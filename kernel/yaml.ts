import { type Document, LineCounter, parseDocument } from 'yaml'
import { defineError } from './errors.ts'
import type { Ports } from './ports.ts'

const MAX_BYTES = 1024 * 1024

export const BadFileError = defineError({
  code: 'bad_file',
  status: 409,
  title: 'Bad file',
  sentence: (p: { file: string; line?: number | undefined; problem: string; remedy?: string }) =>
    `${p.file}${p.line ? `:${p.line}` : ''}: ${p.problem}${p.remedy ? `; ${p.remedy}` : ''}.`,
})

/** A YAML mapping with its text, so that errors name lines and writes keep comments. */
export interface YamlFile {
  file: string
  document: Document
  values: Record<string, unknown>
  /** The line, from 1, on which the value at this path stands; undefined when it doesn't. */
  lineOf(path: readonly string[]): number | undefined
}

/**
 * Reads YAML that people write: a mapping of at most 1 MiB; nothing (also a missing file) means an empty one.
 * @throws BadFileError with file and line
 */
export async function readYaml(files: Ports['files'], file: string): Promise<YamlFile> {
  let bytes: Buffer
  try {
    bytes = await files.readFile(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return parseYaml(file, '')
    throw new BadFileError({ file, problem: `cannot be read (${(error as NodeJS.ErrnoException).code ?? error})` })
  }
  if (bytes.length > MAX_BYTES) throw new BadFileError({ file, problem: 'is larger than 1 MiB' })
  if (!bytes.equals(Buffer.from(bytes.toString('utf8')))) throw new BadFileError({ file, problem: 'is not UTF-8 text' })
  return parseYaml(file, bytes.toString('utf8').replace(/^\uFEFF/, ''))
}

export function parseYaml(file: string, text: string): YamlFile {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true, prettyErrors: false })
  const fault = document.errors[0] ?? document.warnings[0]
  if (fault) {
    throw new BadFileError({ file, line: lines.linePos(fault.pos[0]).line, problem: fault.message.replace(/\.$/, '') })
  }
  let values: unknown
  try {
    values = document.toJS() ?? {}
  } catch (error) {
    throw new BadFileError({ file, problem: (error as Error).message })
  }
  if (typeof values !== 'object' || values === null || Array.isArray(values)) {
    throw new BadFileError({ file, line: 1, problem: 'holds no mapping', remedy: 'write "key: value" lines' })
  }
  refusePrototypes(file, values as Record<string, unknown>)
  return {
    file,
    document,
    values: values as Record<string, unknown>,
    lineOf(path) {
      for (let depth = path.length; depth > 0; depth--) {
        const node = document.getIn(path.slice(0, depth), true) as { range?: [number, number, number] } | undefined
        if (node?.range) return lines.linePos(node.range[0]).line
      }
      return undefined
    },
  }
}

/** Keys that a deep merge must never follow. */
export function isForbiddenKey(key: string): boolean {
  return key === '__proto__' || key === 'constructor' || key === 'prototype'
}

function refusePrototypes(file: string, value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const key of Object.keys(value)) {
    if (isForbiddenKey(key)) throw new BadFileError({ file, problem: `the key "${key}" is not allowed` })
    refusePrototypes(file, (value as Record<string, unknown>)[key])
  }
}

/** Replaces a file as a whole: written beside, flushed, renamed. A reader sees the old or the new text, never a part. */
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
    await files.rename(beside, file)
  } catch (error) {
    await files.rm(beside, { force: true })
    throw error
  }
}
