import { join, relative } from 'node:path'
import { errorMessage, type PluginHandle, z } from '#kernel'
import { replaceFile } from '#lib/yaml'
import { Store, usdOf } from '#platform/store/contract'
import { microsOf } from './config.ts'
import { BudgetUnreadableError, bookSpend } from './contract.ts'
import { budgetRow, isUnused } from './repository.ts'

const Saved = z.object({ spent_usd: z.number().min(0), spent_tokens: z.int().min(0) })

/**
 * The file `.svc/budget.json`, under `daemon.budget_persist`: shows the amount spent, and is only read into a database
 * in which nothing was ever booked. The database is authoritative.
 */
export class SavedBudget {
  readonly #svc: PluginHandle
  readonly #file: string
  /** Whether the file was read, or reading it is not necessary. */
  #taken = false
  #shown = ''
  #showing: Promise<void> = Promise.resolve()

  constructor(svc: PluginHandle) {
    this.#svc = svc
    this.#file = join(svc.project.svc, 'budget.json')
  }

  /**
   * Imports the file's amounts into an empty ledger, once. @throws BudgetUnreadableError if the file cannot be read,
   * which never counts as 0
   */
  async importAmounts(): Promise<void> {
    if (this.#taken) return
    const store = this.#svc.use(Store)
    const saved = (await isUnused(store)) ? await this.#read() : undefined
    if (saved && saved.spent_usd + saved.spent_tokens > 0) await store.apply([importSpend(saved)])
    this.#taken = true
  }

  /** Starts at 0 although the file cannot be read, logs that, and renames the file. */
  async giveUp(error: unknown): Promise<void> {
    this.#taken = true
    await this.#renameCorrupt()
    this.#svc.log.warn({ code: 'budget_unreadable' }, `${errorMessage(error)}; counting from 0`)
  }

  /** Writes the amount spent if it changed. Writes run one after another. An error is logged and stops no call. */
  show(): Promise<void> {
    this.#showing = this.#showing
      .then(() => this.#show())
      .catch(error => this.#svc.log.warn({}, `${this.#file} was not written: ${errorMessage(error)}`))
    return this.#showing
  }

  /** Writes the file after a reset. An unreadable file is renamed and no longer stops calls. */
  async renew(): Promise<void> {
    this.#taken = true
    await this.#read().catch(() => this.#renameCorrupt())
    await this.show()
  }

  async #show(): Promise<void> {
    if (!this.#taken) return
    const { spent_micros, spent_tokens } = await budgetRow(this.#svc.use(Store))
    const text = `${JSON.stringify({ spent_usd: usdOf(spent_micros), spent_tokens })}\n`
    if (text === this.#shown) return
    await replaceFile(this.#svc.ports.files, this.#file, text)
    this.#shown = text
  }

  async #read(): Promise<z.output<typeof Saved> | undefined> {
    const unreadable = (problem: string, cause: unknown) =>
      new BudgetUnreadableError({ file: relative(this.#svc.project.root, this.#file), problem }, { cause })
    const text = await this.#svc.ports.files.readFile(this.#file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw unreadable(`cannot be read (${errorMessage(error)})`, error)
    })
    if (text === undefined) return undefined
    try {
      return Saved.parse(JSON.parse(text))
    } catch (error) {
      const problem = 'does not contain "spent_usd" and "spent_tokens", two non-negative numbers, as JSON'
      throw unreadable(text.trim() === '' ? 'is empty' : problem, error)
    }
  }

  #renameCorrupt(): Promise<void> {
    return this.#svc.ports.files.rename(this.#file, `${this.#file}.corrupt`).catch(() => {})
  }
}

function importSpend({ spent_usd, spent_tokens }: z.output<typeof Saved>) {
  return bookSpend({
    call_id: 'budget.json',
    agent_id: null,
    goal_id: null,
    kind: 'carried',
    model: 'budget.json',
    cost_micros: microsOf(spent_usd),
    input_tokens: spent_tokens,
    output_tokens: 0,
    priced: 'catalogue',
    estimated: false,
    attempts: 0,
    duration_ms: 0,
  })
}
