import { NativeModuleError } from './contract.ts'

type Engine = typeof import('better-sqlite3')

/** SQLite. @throws NativeModuleError */
export function engine(): Promise<Engine> {
  return import('better-sqlite3').then(
    module => (COLLECTS_AMISS ? keeping(module.default) : module.default),
    error => Promise.reject(notLoaded(error)),
  )
}

/** What its binary has to do with an error, in a sentence: it is looked for when the first connection is made. */
export function notLoaded(error: unknown): unknown {
  const { code = '', message } = error as NodeJS.ErrnoException
  if (!/MODULE_NOT_FOUND|DLOPEN/.test(code) && !message.startsWith('Could not locate the bindings')) return error
  return new NativeModuleError({ problem: message.split('\n')[0]! }, { cause: error })
}

/**
 * From 24.19 on, Node aborts the process when what this module made is collected while no script runs ("Assertion failed: (env)
 * != nullptr" in RemoveEnvironmentCleanupHook; better-sqlite3 up to 12.11).
 */
const COLLECTS_AMISS = Number(process.versions.node.split('.')[0]) >= 24
const kept: unknown[] = []
let kind: Engine | undefined

/** The same, of which nothing is ever collected. A closed connection holds no memory of SQLite's. */
function keeping(Sqlite: Engine): Engine {
  kind ??= class extends Sqlite {
    readonly #asked = new Map<string, ReturnType<typeof this.prepare>>()

    constructor(...settings: ConstructorParameters<Engine>) {
      super(...settings)
      kept.push(this)
    }

    override prepare: typeof Sqlite.prototype.prepare = text => {
      const statement = super.prepare(text)
      kept.push(statement)
      return statement as never
    }

    override pragma(text: string, options?: { simple?: boolean }): unknown {
      const statement = this.#asked.get(text) ?? this.prepare(`PRAGMA ${text}`)
      this.#asked.set(text, statement)
      return options?.simple ? statement.pluck().get() : statement.pluck(false).all()
    }
  } as unknown as Engine
  return kind
}
