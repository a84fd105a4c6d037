import { keyedIds, keyedRandom } from '#lib/keyed-random'
import type { Opener } from '#lib/opener'
import { SimulatedTime } from './clock.ts'
import { Dice } from './dice.ts'
import { Disk } from './disk/disk.ts'
import { FaultInjector } from './fault-injector.ts'
import { ROOT, SimulatedProcess } from './process.ts'
import { NOTHING, rulesOf } from './rules.ts'
import { type MediumParts, SharedDatabase } from './shared-database.ts'

type Row = Record<string, unknown>

/** State in which all runs begin: a database whose schema the service itself has created, once. */
export class InitialState {
  readonly #database: SharedDatabase
  readonly #tables: readonly (readonly [name: string, rows: readonly Row[]])[]

  private constructor(database: SharedDatabase) {
    this.#database = database
    this.#tables = tablesOf(database).map(name => [name, database.all<Row>(`SELECT * FROM ${name}`)])
  }

  /**
   * Starts the service once without its daemon, so that all migrations are run and lazy imports are loaded.
   * @param turn waits for a turn of the machine's own event loop
   */
  static async prepare(opener: Opener, turn: () => Promise<void>): Promise<InitialState> {
    const dice = new Dice(0, 'ground')
    const time = new SimulatedTime(dice)
    const disk = new Disk(() => time.wall)
    const { files } = rulesOf(dice, { seed: 0, cycles: 0, faults: 'none' }, { ...NOTHING, needs: 'everything' })
    for (const [path, text] of Object.entries(files)) disk.put(`${ROOT}/${path}`, text)
    const database = new SharedDatabase()
    const random = keyedRandom(0)
    const process = new SimulatedProcess(0, ['cli'], {
      opener,
      also: [],
      favoured: [],
      time,
      disk,
      database,
      random,
      ids: keyedIds(random),
      injector: new FaultInjector('none', dice, () => 0),
      checker: undefined,
      dice: { model: dice, tools: dice },
      listening: new Map(),
      mayKill: () => {},
    })
    const waitFor = async (work: Promise<unknown>) => {
      let over = false
      const end = () => {
        over = true
      }
      work.then(end, end)
      while (!over) {
        await time.run(time.elapsed)
        await turn()
      }
      return work
    }
    await waitFor(process.start())
    const initial = new InitialState(database)
    const spawned = (await waitFor(process.kernel!.invoke('agents.spawn', { preset: 'worker' }))) as {
      agent_id: string
    }
    const calendar = { id: spawned.agent_id, objective: 'Look around the garden', cron: '0 9 * * *' }
    await waitFor(process.kernel!.invoke('schedules.add', calendar).catch(() => {}))
    process.kill()
    return initial
  }

  /** Empties the database and gives it the parts of a new run. */
  database(parts: MediumParts): SharedDatabase {
    const database = this.#database
    database.run('BEGIN IMMEDIATE')
    for (const [name] of this.#tables.toReversed()) database.run(`DELETE FROM ${name}`)
    for (const [name, rows] of this.#tables) {
      for (const row of rows) {
        const columns = Object.keys(row)
        database.run(`INSERT INTO ${name} (${columns}) VALUES (${columns.map(() => '?')})`, Object.values(row))
      }
    }
    database.run('COMMIT')
    database.begin(parts)
    return database
  }
}

/** Returns all tables, each after the tables that it refers to: foreign keys are always enforced. */
function tablesOf(database: SharedDatabase): string[] {
  const names = database.all<{ name: string }>(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND (name NOT LIKE 'sqlite%' OR name = 'sqlite_sequence') ORDER BY name",
  )
  const ordered = new Set<string>()
  const add = (name: string) => {
    if (ordered.has(name)) return
    const parents = database.all<{ parent: string }>('SELECT "table" AS parent FROM pragma_foreign_key_list(?)', [name])
    for (const { parent } of parents) if (parent !== name) add(parent)
    ordered.add(name)
  }
  for (const { name } of names) add(name)
  return [...ordered]
}
