import { basename, resolve } from 'node:path'
import { errorMessage, type Ports } from '#kernel'
import { type CommandSpec, UsageError } from '../contract.ts'
import { usageOf } from '../parsing/help.ts'

/**
 * Returns the input with the contents of the files that options name: JSON, or names and bytes of attachments. Makes
 * paths absolute that are relative to the working directory.
 * @throws UsageError when a file cannot be read, or is not JSON
 */
export async function withFiles(
  spec: CommandSpec,
  input: Record<string, unknown>,
  files: Ports['files'],
): Promise<Record<string, unknown>> {
  const named = spec.options.filter(({ field, type }) => type === 'file' && typeof input[field] === 'string')
  const read = named.map(async ({ field, name }) => [field, await readJson(spec, name, String(input[field]), files)])
  const attached = spec.options
    .filter(({ field, type }) => type === 'files' && Array.isArray(input[field]))
    .map(async ({ field, name }) => {
      const paths = input[field] as string[]
      return [field, await Promise.all(paths.map(path => readBytes(spec, name, path, files)))]
    })
  const paths = spec.options.filter(({ type }) => type === 'path' || type === 'paths').map(({ field }) => field)
  const absolute = paths.filter(field => input[field] !== undefined).map(field => [field, absoluteOf(input[field])])
  return { ...input, ...Object.fromEntries([...(await Promise.all([...read, ...attached])), ...absolute]) }
}

function absoluteOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(absoluteOf)
  return typeof value === 'string' && !value.startsWith('~') ? resolve(value) : value
}

/** Maximum size of an attached file, in bytes, so that no larger one is read; the limit is that of a request. */
const LARGEST_FILE = 16 * 1024 * 1024

async function readBytes(spec: CommandSpec, option: string, path: string, files: Ports['files']) {
  try {
    const { size } = await files.stat(path)
    if (size > LARGEST_FILE) throw new Error(`${path} has ${size} bytes, and at most ${LARGEST_FILE} can be sent`)
    return { name: basename(path), data: await files.readFile(path, 'base64') }
  } catch (error) {
    throw unreadable(spec, option, errorMessage(error))
  }
}

async function readJson(spec: CommandSpec, option: string, path: string, files: Ports['files']): Promise<unknown> {
  try {
    return JSON.parse(await files.readFile(path, 'utf8'))
  } catch (error) {
    const problem = error instanceof SyntaxError ? `${path} is not JSON: ${error.message}` : errorMessage(error)
    throw unreadable(spec, option, problem)
  }
}

function unreadable(spec: CommandSpec, option: string, problem: string) {
  return new UsageError({ problem: `${spec.path.join(' ')}: --${option}: ${problem}`, usage: usageOf(spec) })
}
