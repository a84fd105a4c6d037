type Engine = typeof import('better-sqlite3')

/**
 * Whether Node aborts the process when an SQLite object is garbage-collected while no script runs, as from 24.19 on
 * ("Assertion failed: (env) != nullptr" in RemoveEnvironmentCleanupHook; better-sqlite3 up to 12.11).
 */
const COLLECTS_AMISS = Number(process.versions.node.split('.')[0]) >= 24
const kept: unknown[] = []
let kind: Engine | undefined

/**
 * Returns the engine. Where garbage collection of its objects would crash the process, they are never collected; a
 * closed connection holds no SQLite memory.
 */
export function withoutCollection(Sqlite: Engine): Engine {
  if (!COLLECTS_AMISS) return Sqlite
  kind ??= class extends Sqlite {
    readonly #pragmas = new Map<string, ReturnType<typeof this.prepare>>()

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
      const statement = this.#pragmas.get(text) ?? this.prepare(`PRAGMA ${text}`)
      this.#pragmas.set(text, statement)
      // A PRAGMA that sets a value may return no rows.
      if (!statement.reader) return void statement.run()
      return options?.simple ? statement.pluck().get() : statement.pluck(false).all()
    }
  } as unknown as Engine
  return kind
}
