/**
 * The built program lies in pieces, scripts that are run when they are first asked for. What V8 made of one, down to the
 * functions that were called, is kept on disk for the next run: compiling them is a quarter of a start. Of an ES module Node
 * keeps it from 22.1 on only, hence scripts.
 */
import { isAscii } from 'node:buffer'
import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { cachedDataVersionTag } from 'node:v8'
import { Script } from 'node:vm'

/** Of all pieces together; the build tells it. */
declare const BUILD: string

type Exports = Readonly<Record<string, unknown>>
type Run = (
  exports: Exports,
  require: (name: string) => unknown,
  module: { exports: Exports },
  importPiece: (name: string) => Promise<unknown>,
  importMetaUrl: string,
) => void

/** What a process has loaded and called by then is what its next run will need. */
const KEEP_AFTER_MS = 3000
/** Those of versions that are gone. */
const OLD_MS = 30 * 24 * 3600 * 1000
/** Before what V8 made stands its checksum: V8 trusts what it is given. */
const HEAD = 8
/** Of a text that is read, in bytes. */
const PART = 64 * 1024

const PLACE = new URL('./', import.meta.url)
const modules = new Map<string, { exports: Exports }>()
const fresh = new Map<string, Script>()
const requirePackage = createRequire(import.meta.url)
let kept: string | undefined

/**
 * What a piece exports; it is run when it is asked for first.
 * @param name its file beside this one, as in `./program.js`
 */
export function piece(name: string): Exports {
  const known = modules.get(name)
  if (known) return known.exports
  const filename = fileURLToPath(new URL(name.replace(/js$/, 'cjs'), PLACE))
  const source = `(function(exports,require,module,importPiece,importMetaUrl){${textOf(read(filename))}\n})`
  const cachedData = readKept(name)
  const script = new Script(source, { filename, ...(cachedData ? { cachedData } : {}) })
  if (!cachedData || script.cachedDataRejected) fresh.set(name, script)
  const module: { exports: Exports } = { exports: {} }
  modules.set(name, module)
  try {
    const run = script.runInThisContext() as Run
    run(module.exports, requirePiece, module, importPiece, pathToFileURL(filename).href)
  } catch (error) {
    modules.delete(name)
    throw error
  }
  return module.exports
}

const requirePiece = (name: string) => (name.startsWith('./') ? piece(name) : requirePackage(name))
const importPiece = async (name: string) => (name.startsWith('./') ? piece(name) : import(name))

/**
 * Takes what V8 made of pieces from the user's cache, and adds what it does not have: once the process has been up for some
 * seconds, and at its end.
 * @param purpose processes that do the same call the same functions; each purpose has a cache of its own
 * @param env tells where caches lie
 */
export function keepCompiled(purpose: string, env: Readonly<Record<string, string | undefined>>): void {
  if (kept !== undefined || typeof BUILD === 'undefined') return
  const caches = join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'svc', 'compiled')
  const version = cachedDataVersionTag()
  const folder = join(caches, `${BUILD}-${version.toString(16)}-${purpose}`)
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    // What lies there is run: not where others may write.
    if ([caches, folder].some(path => !isOwn(path))) return
  } catch {
    return
  }
  kept = folder
  const keep = () => {
    // Under other flags V8 makes what it refuses at the next start.
    if (cachedDataVersionTag() !== version) return
    try {
      keepFresh(folder)
      removeOld(caches)
    } catch {
      // A disk that is full or read-only: the next start compiles again.
    }
  }
  setTimeout(keep, KEEP_AFTER_MS).unref()
  process.once('exit', keep)
}

function isOwn(path: string): boolean {
  const { uid, mode } = statSync(path)
  return process.platform === 'win32' || (uid === process.getuid?.() && (mode & 0o022) === 0)
}

function readKept(name: string): Buffer | undefined {
  if (kept === undefined) return undefined
  try {
    const file = read(join(kept, name))
    const data = file.subarray(HEAD)
    return file.readInt32LE(0) === sumOf(data) ? data : undefined
  } catch {
    return undefined
  }
}

/**
 * What a file holds, in memory that is mapped for it alone: of malloc's, glibc from then on keeps twice as much of what is freed
 * in each thread (mallopt(3), M_MMAP_THRESHOLD).
 * @throws what opening and reading it throws
 */
function read(path: string): Buffer {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    // One that may be resized is mapped, however small.
    const data = Buffer.from(Reflect.construct(ArrayBuffer, [size, { maxByteLength: size }]))
    if (readSync(file, data) < size) throw new Error(`${path} is not read to its end`)
    return data
  } finally {
    closeSync(file)
  }
}

/**
 * In parts, which V8 puts together in its heap: a long text would be one of malloc's as well. What is not ASCII, as in tagged
 * templates, which the bundler leaves as they are, is UTF-8.
 */
function textOf(data: Buffer): string {
  if (!isAscii(data)) return data.toString('utf8')
  let text = ''
  for (let at = 0; at < data.length; at += PART) text += data.toString('latin1', at, at + PART)
  return text
}

function keepFresh(folder: string): void {
  for (const [name, script] of fresh) {
    const data = script.createCachedData()
    const head = Buffer.alloc(HEAD)
    head.writeInt32LE(sumOf(data))
    const file = join(folder, name)
    // Moved to its place whole: others may read it now.
    const made = openSync(`${file}.${process.pid}`, 'w', 0o600)
    try {
      writeFileSync(made, head)
      writeFileSync(made, data)
    } finally {
      closeSync(made)
    }
    renameSync(`${file}.${process.pid}`, file)
    fresh.delete(name)
  }
}

function removeOld(caches: string): void {
  const before = Date.now() - OLD_MS
  for (const name of readdirSync(caches)) {
    const path = join(caches, name)
    if (statSync(path).mtimeMs < before) rmSync(path, { recursive: true, force: true })
  }
}

/** Of a word in every 64 bytes: what a disk loses is whole blocks. */
function sumOf(data: Buffer): number {
  const words = new Int32Array(data.buffer, data.byteOffset, data.length >> 2)
  let sum = data.length
  for (let at = 0; at < words.length; at += 16) sum = (Math.imul(sum, 31) + words[at]!) | 0
  return sum
}
