import { createRequire } from 'node:module'
import { isAbsolute } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Jiti, TransformOptions } from 'jiti'
import { didYouMean } from '#kernel'
import { PluginTimers } from './plugin-timers.ts'

/** A source file as jiti compiles it. */
export interface Source {
  filename: string
  source: string
  ts: boolean
  /** Whether the file is an ES module; CommonJS runs synchronously. */
  async: boolean
}

/** Options of jiti: modules are not cached in memory, and a module without a default export gets none. */
const OPTIONS = { moduleCache: false, interopDefault: false } as const

/** Idle time after which the thread ends to free its memory, in milliseconds. */
const IDLE_MS = 30_000

/**
 * Code of the thread. It compiles into jiti's cache on disk, where the process that loads the files finds the result.
 */
const PROGRAM = `
  const { parentPort, workerData: { jiti: path, idle } } = require('node:worker_threads')
  const { createJiti } = require(path)
  let end
  parentPort.on('message', ({ id, sources, options }) => {
    clearTimeout(end)
    const jiti = createJiti(__filename, options)
    // Loading the file reports its mistakes.
    for (const each of sources) try { jiti.transform(each) } catch {}
    parentPort.postMessage(id)
    end = setTimeout(() => process.exit(), idle)
  })`

/** Runs compiled files and their imports. */
export interface Runner {
  /**
   * @param sources the file, and those of its imports whose current text is run
   * @param timers timers that replace Node's in the sources
   */
  import(file: string, sources: readonly Source[], timers: PluginTimers): Promise<unknown>
}

/**
 * @param fsCache the folder of compiled code
 * @param modules modules that files import by these names and absolute paths
 * @param onMoved called with a file that imports a name from a module that no longer exports it, the name, and the
 * module that does
 */
export async function openRunner(
  fsCache: string,
  modules: Record<string, object>,
  onMoved: (file: string, name: string, module: string) => void,
): Promise<Runner> {
  const { createJiti } = await import('jiti')
  const compiler = createJiti(import.meta.url, { ...OPTIONS, fsCache })
  const transform = (each: TransformOptions) => ({
    code: withTimers(compiler.transform(each), each.async === true),
  })
  return {
    async import(file, sources, timers) {
      const virtualModules: Record<string, unknown> = { [SCOPE]: scopeOf(timers, name => checkModule(name, modules)) }
      const begun = new Map<string, { exports: unknown }>()
      for (const name of Object.keys(modules)) {
        const module = strict(name, modules, (key, place) => onMoved(file, key, place))
        if (isAbsolute(name)) begun.set(name, { exports: module })
        else virtualModules[name] = module
      }
      const options = { ...OPTIONS, fsCache: false, transform, virtualModules }
      return modulesOf(createJiti(import.meta.url, options), sources, begun)[file]?.exports
    },
  }
}

/** Name of the module through which compiled code gets its version's timers. */
const SCOPE = 'svc:timers'
/** Names with values of ours in a compiled module, instead of those of jiti and Node. */
const NAMES = ['require', 'jitiImport', ...Object.keys(new PluginTimers().globals)]

/**
 * Wraps compiled code in a function that gives it its version's timers. The inner function allows the code to declare
 * the same names.
 */
function withTimers(code: string, async: boolean): string {
  const scope = `require(${JSON.stringify(SCOPE)})(require, jitiImport)`
  return `return ((${NAMES}) => (${async ? 'async ' : ''}() => {${code}\n})())(...${scope})`
}

type Import = (name: string, ...rest: unknown[]) => unknown

/**
 * Returns a function that makes the values of NAMES from the `require` and `import` of a module.
 * @param check throws for a name that cannot be imported
 */
function scopeOf(
  { globals, modules }: PluginTimers,
  check: (name: string) => void,
): (require: Import, load: Import) => unknown[] {
  const own = (name: unknown) => {
    check(String(name))
    return modules[String(name).replace(/^node:/, '')]
  }
  return (require, load) => [
    new Proxy(require, {
      apply: (target, self, [name, ...rest]) => own(name) ?? Reflect.apply(target, self, [name, ...rest]),
    }),
    async (name: string, ...rest: unknown[]) => own(name) ?? load(name, ...rest),
    ...Object.values(globals),
  ]
}

/** Names of `svc` that only an installed package has. */
const OF_PACKAGE = ['svc/client', 'svc/testing']

/**
 * Checks that a name such as `svc/goals` is a module of the program.
 * @throws TypeError that names the closest module
 */
function checkModule(name: string, modules: Record<string, object>): void {
  if (!/^svc\/[\w/-]+$/.test(name) || name in modules || OF_PACKAGE.includes(name)) return
  throw new TypeError(`There is no module "${name}"; ${didYouMean(name, Object.keys(modules), 'your editor')}`)
}

/**
 * Returns the modules of one run; each is run at its first import. Without this, jiti would leave plain JavaScript to
 * Node, whose cache returns the version that was imported first.
 * @param begun modules that exist already
 */
function modulesOf(
  jiti: Jiti,
  sources: readonly Source[],
  begun: Map<string, { exports: unknown }>,
): Record<string, { exports: unknown }> {
  const known = new Map(sources.map(each => [each.filename, each]))
  const cache: Record<string, { exports: unknown }> = new Proxy<Record<string, { exports: unknown }>>(
    {},
    {
      get(modules, path: string) {
        const source = known.get(path)
        if (begun.has(path) || !source || path in modules) return begun.get(path) ?? modules[path]
        const { filename, async } = source
        const exports: unknown = jiti.evalModule(source.source, {
          filename,
          async,
          forceTranspile: true,
          cache: cache as never,
        })
        const module = { exports: async ? exports : withDefault(exports) }
        // Recorded before it runs: an import from a cycle gets the exports that exist so far.
        begun.set(path, module)
        queueMicrotask(() => begun.delete(path))
        return module
      },
    },
  )
  return cache
}

/** Returns CommonJS exports as Node gives them to importers: all of them are also the default export. */
function withDefault(exports: unknown): unknown {
  if (Object(exports) !== exports || 'default' in (exports as object)) return exports
  if (!Object.isExtensible(exports)) return { ...(exports as object), default: exports }
  return Object.defineProperty(exports, 'default', { value: exports, configurable: true })
}

/**
 * Returns a module that throws for names that it does not export, where compiled code would get undefined. Names that
 * moved from `svc` to `svc/<module>` are found there.
 */
function strict(name: string, modules: Record<string, object>, onMoved: (key: string, place: string) => void): object {
  const moved = new Map<string, unknown>()
  return new Proxy(modules[name]!, {
    get(target, key) {
      // Awaiting a module looks for `then`.
      if (typeof key === 'symbol' || key in target || key === 'then') return Reflect.get(target, key)
      if (moved.has(key)) return moved.get(key)
      const [place, other] = (name === 'svc' && Object.entries(modules).find(([, each]) => key in each)) || []
      if (place !== undefined && other !== undefined) {
        onMoved(key, place)
        moved.set(key, Reflect.get(other, key))
        return moved.get(key)
      }
      throw new TypeError(`"${name}" exports no "${key}"; ${didYouMean(key, Object.keys(target), 'your editor')}`)
    },
  })
}

/**
 * Compiles sources that are not in jiti's cache, in a thread: jiti's compiler takes hundreds of milliseconds and a
 * dozen megabytes to start. A file with an error stays out of the cache; loading it compiles it again and reports the
 * error.
 * @param fsCache the cache's folder
 */
export async function compile(sources: readonly Source[], fsCache: string): Promise<void> {
  const { createJiti } = await import('jiti')
  const transform = () => {
    throw new Error('is not in the cache')
  }
  const cached = createJiti(import.meta.url, { ...OPTIONS, fsCache, transform })
  const missing = sources.filter(source => {
    try {
      return !cached.transform(source)
    } catch {
      return true
    }
  })
  if (missing.length > 0) await thread.compile(missing, { ...OPTIONS, fsCache })
}

/** The compiler thread of the process, which ends after a while without work. */
class CompilerThread {
  #worker: Worker | undefined
  #next = 0
  readonly #waiting = new Map<number, () => void>()

  /** Resolves also if the thread ends early. */
  async compile(sources: readonly Source[], options: object): Promise<void> {
    const worker = this.#up()
    const id = this.#next++
    worker.ref()
    await new Promise<void>(done => {
      this.#waiting.set(id, done)
      worker.postMessage({ id, sources, options })
    })
    if (this.#waiting.size === 0) worker.unref()
  }

  #up(): Worker {
    if (this.#worker) return this.#worker
    const jiti = createRequire(import.meta.url).resolve('jiti')
    const worker = new Worker(PROGRAM, { eval: true, workerData: { jiti, idle: IDLE_MS } })
    worker.on('message', (id: number) => this.#finish(id))
    worker.on('error', () => {})
    worker.on('exit', () => {
      this.#worker = undefined
      for (const id of [...this.#waiting.keys()]) this.#finish(id)
    })
    this.#worker = worker
    return worker
  }

  #finish(id: number): void {
    this.#waiting.get(id)?.()
    this.#waiting.delete(id)
  }
}

const thread = new CompilerThread()
