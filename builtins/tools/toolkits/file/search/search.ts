import type { FileHandle } from 'node:fs/promises'
import picomatch from 'picomatch'
import type { Ports } from '#kernel'
import { contentTokens } from '#lib/output-limit'
import { pluralize } from '#lib/pluralize'
import { textTokens } from '#lib/text-tokens'
import type { JailFolder, Reach, Sandbox } from '#safety/sandbox/contract'
import { Matcher, type MatchOptions, PatternError } from './matcher.ts'
import { Ripgrep } from './ripgrep.ts'
import { type FoundFile, Walk, type WalkOptions } from './walk.ts'

/** Maximum number of characters shown of a line. */
const LINE_CHARS = 300
/** Number of characters shown before a match that is not at the beginning of a long line. */
const BEFORE_MATCH = 100
/** Maximum size of files that are searched below a folder, in bytes. */
const MAX_SEARCHED = 2_000_000
/** Number of bytes at the beginning of a file that are checked for binary content. */
const PROBED = 8_000
/** Number of files read before ripgrep is started; for fewer, starting it costs more than it saves. */
const READ_FIRST = 100
/** Maximum total size of the paths in one ripgrep call, in bytes, because the system limits arguments. */
const BATCH_BYTES = 400_000

/** A search below an open folder. */
export interface Search extends WalkOptions {
  files: Ports['files']
  folder: JailFolder
  sandbox: Sandbox
  /** Reach of the workspace, for programs in the sandbox. */
  reach: Reach
  /** Maximum tokens of the whole result. */
  result_tokens?: number | undefined
  /** The folder's path, as the agent gave it. */
  path: string
}

const NARROWER = 'set path to a subfolder, or use a narrower pattern'
const MORE_BELOW = `${NARROWER}, or list the files with files_only`
const MORE_IN_FILE = 'use a narrower pattern, or read the part with file_read'

/** Lists the files whose path matches a pattern. */
export async function globFiles(search: Search, pattern: string, limit: number): Promise<string> {
  const matches = pathMatcher(pattern)
  const found: string[] = []
  const { more, cut } = await eachFile(search, async ({ path }) => {
    if (matches(path)) found.push(displayPath(search.path, path))
    return found.length <= limit
  })
  if (found.length === 0) return noMatches(`No file matches ${JSON.stringify(pattern)}`, search, cut)
  const notes = more ? [`There are more than ${limit} files; ${NARROWER}, or set limit.`] : cutNote(cut)
  return [...found.slice(0, limit), ...notes.map(note => `[${note}]`)].join('\n')
}

export interface GrepOptions extends MatchOptions {
  pattern: string
  glob?: string | undefined
  /** Lines to show before and after each match. */
  context: number
  /** Only the paths of files with a match. */
  files_only: boolean
  limit: number
}

/** Takes the text of a file and its path, empty where the agent named the file; returns whether it takes more. */
type TakeText = (text: string, path: string) => boolean

/** Shows the lines below a folder that match a pattern, as `path:line: text`. */
export function grepFiles(search: Search, options: GrepOptions): Promise<string> {
  const matcher = new Matcher(options.pattern, options)
  const isWanted = options.glob === undefined ? () => true : pathMatcher(options.glob)
  return grepTexts({ ...search, remedy: options.files_only ? NARROWER : MORE_BELOW }, options, matcher, take =>
    eachText(search, matcher, isWanted, (text, file) => take(text, displayPath(search.path, file))),
  )
}

/**
 * Shows the matching lines of one file as `line: text`, also of one that `.gitignore` excludes.
 * @param most maximum size of the file, in bytes
 */
export async function grepFile(
  file: FileHandle,
  path: string,
  options: GrepOptions,
  most: number,
  result_tokens?: number,
) {
  const { size } = await file.stat()
  if (size > most)
    return `[${JSON.stringify(path)} is not searched: it has ${size} bytes, and the limit is ${most}. Divide it, or search it with a program.]`
  const text = await readText(file, most)
  if (text === undefined) return `[${JSON.stringify(path)} is not searched: it is no text.]`
  const matcher = new Matcher(options.pattern, options)
  const shown = options.files_only ? displayPath('.', path) : ''
  const each = async (take: TakeText) => ({ more: !take(text, shown), cut: false })
  return grepTexts({ path, all: true, result_tokens, remedy: MORE_IN_FILE }, options, matcher, each)
}

/**
 * @param search.remedy what to do when there are more matches
 * @param each passes the texts to search
 */
async function grepTexts(
  search: Pick<Search, 'path' | 'all' | 'result_tokens'> & { remedy: string },
  { pattern, context, files_only, limit }: GrepOptions,
  matcher: Matcher,
  each: (take: TakeText) => Promise<{ more: boolean; cut: boolean }>,
): Promise<string> {
  const lines: string[] = []
  let matches = 0
  let left = contentTokens(search.result_tokens)
  const { more, cut } = await each((text, path) => {
    const found = matcher.linesIn(text, files_only ? 1 : limit - matches + 1)
    if (found.length === 0) return true
    const kept = found.slice(0, limit - matches)
    const added = files_only
      ? kept.length > 0
        ? [path]
        : []
      : linesAround(path, text.split('\n'), kept, context, matcher)
    matches += found.length
    for (const line of added) {
      left -= textTokens(line) + 1
      if (left < 0 && lines.length > 0) return false
      lines.push(line)
    }
    return matches <= limit
  })
  if (lines.length === 0) return noMatches(`Nothing matches ${JSON.stringify(pattern)}`, search, cut)
  const atLimit = matches > limit ? ', or set limit' : ''
  const notes = more ? [`There are more matches; ${search.remedy}${atLimit}.`] : cutNote(cut)
  return [...lines, ...notes.map(note => `[${note}]`)].join('\n')
}

/**
 * Walks the files until none are left or `take` returns false.
 * @param rest called after the last file; returns whether everything was taken
 */
async function eachFile(
  { files, folder, path, ...options }: Search,
  take: (file: FoundFile) => Promise<boolean>,
  rest: () => Promise<boolean> = async () => true,
) {
  const walk = new Walk(files, options)
  for await (const file of walk.walkFolder(folder, path)) if (!(await take(file))) return { more: true, cut: false }
  return { more: !(await rest()), cut: walk.cut }
}

/** Walks the texts that may contain a match, in the same way. */
async function eachText(search: Search, matcher: Matcher, isWanted: (path: string) => boolean, take: TakeText) {
  let seen = 0
  let ripgrep: Ripgrep | undefined
  let batch: string[] = []
  let bytes = 0
  const takeBatch = async () => {
    const paths = batch
    batch = []
    bytes = 0
    const without = ripgrep && paths.length > 0 ? await ripgrep.without(paths) : new Set()
    for (const path of paths) {
      search.signal.throwIfAborted()
      const text = without.has(path) ? undefined : await textBelow(search, path)
      if (text !== undefined && !take(text, path)) return false
    }
    return true
  }
  const takeFile = async ({ path, at }: FoundFile) => {
    if (!isWanted(path)) return true
    if (seen++ === READ_FIRST) ripgrep = await ripgrepFor(search, matcher)
    if (!ripgrep) {
      const text = await textOf(search.files, at)
      return text === undefined || take(text, path)
    }
    batch.push(path)
    bytes += Buffer.byteLength(path)
    return bytes < BATCH_BYTES || takeBatch()
  }
  return eachFile(search, takeFile, takeBatch)
}

async function ripgrepFor({ sandbox, reach, folder, signal }: Search, matcher: Matcher): Promise<Ripgrep | undefined> {
  const pattern = matcher.ripgrepPattern()
  return pattern === undefined
    ? undefined
    : Ripgrep.find(sandbox, { reach, cwd: folder.path, signal }, pattern, MAX_SEARCHED)
}

/** Returns a matcher for shell glob patterns; a pattern without a slash matches names in any folder. */
function pathMatcher(pattern: string): (path: string) => boolean {
  if (pattern.startsWith('/') || pattern.split('/').includes('..')) {
    throw new PatternError({ pattern, problem: 'leads out of the folder; set path to the folder to search' })
  }
  const plain = pattern.replace(/^\.\//, '')
  return picomatch(plain.includes('/') ? plain : `**/${plain}`, { dot: true, nonegate: true })
}

/** Returns the text of a file that the walk has passed; undefined when the file is gone or is not a searchable text. */
async function textBelow({ files, folder, path }: Search, file: string): Promise<string | undefined> {
  const names = file.split('/')
  const opened = [folder]
  try {
    for (const name of names.slice(0, -1)) opened.unshift(await opened[0]!.below(name, path))
    return await textOf(files, opened[0]!.at(names.at(-1)!))
  } catch {
    return undefined
  } finally {
    for (const below of opened.slice(0, -1)) await below.close()
  }
}

async function textOf(files: Ports['files'], at: string): Promise<string | undefined> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = files.constants
  const handle = await files.open(at, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(() => undefined)
  if (!handle) return undefined
  try {
    // A hard link may refer to a file outside the folder.
    return (await handle.stat()).nlink > 1 ? undefined : await readText(handle, MAX_SEARCHED)
  } finally {
    await handle.close()
  }
}

async function readText(handle: FileHandle, most: number): Promise<string | undefined> {
  const stats = await handle.stat()
  if (!stats.isFile() || stats.size > most) return undefined
  const bytes = await handle.readFile()
  return bytes.subarray(0, PROBED).includes(0) ? undefined : bytes.toString('utf8').replaceAll('\r\n', '\n')
}

/** Returns the matching lines with context; `--` separates parts that are not adjacent. */
function linesAround(
  path: string,
  lines: readonly string[],
  found: readonly number[],
  context: number,
  matcher: Matcher,
): string[] {
  const shown: string[] = []
  const place = (line: number, mark: string) => `${path}${path && mark}${line + 1}${mark}`
  let next = 0
  for (const at of found) {
    const from = Math.max(next, at - context)
    if (context > 0 && from > next && shown.length > 0) shown.push('--')
    const to = Math.min(lines.length - 1, at + context)
    for (let n = from; n <= to; n++) {
      const line = lines[n]!
      const isFound = found.includes(n)
      const column = isFound && line.length > LINE_CHARS ? matcher.columnIn(line) : 0
      shown.push(`${place(n, isFound ? ':' : '-')} ${short(line, column)}`)
    }
    next = Math.max(next, to + 1)
  }
  return shown
}

/** Cuts a long line to the part around a column. */
function short(line: string, column: number): string {
  if (line.length <= LINE_CHARS) return line
  const wanted = column < LINE_CHARS - BEFORE_MATCH ? 0 : column - BEFORE_MATCH
  const start = Math.min(wanted, line.length - LINE_CHARS)
  const left = line.length - start - LINE_CHARS
  const before = start > 0 ? `(${pluralize(start, 'character')}) …` : ''
  return `${before}${line.slice(start, start + LINE_CHARS)}${left > 0 ? `… (${pluralize(left, 'more character')})` : ''}`
}

/** Returns a path in the form that the file tools accept. */
function displayPath(folder: string, path: string): string {
  const whole = folder === '.' ? path : `${folder.replace(/\/+$/, '')}/${path}`
  return /\p{Cc}/u.test(whole) ? JSON.stringify(whole) : whole
}

function noMatches(what: string, { path, all }: Pick<Search, 'path' | 'all'>, cut: boolean): string {
  const ignored = all ? '' : ' Files that .gitignore excludes were left out; include_ignored searches them too.'
  return `[${what} in ${JSON.stringify(path)}.${ignored}${cut ? ` ${cutNote(true)[0]}` : ''}]`
}

function cutNote(cut: boolean): string[] {
  return cut ? [`The folder has too many entries for one search; ${NARROWER}.`] : []
}
