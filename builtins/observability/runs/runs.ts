import { Agents } from '#core/agents/contract'
import { type Effect, errorMessage, type PluginHandle, token } from '#kernel'
import { Daemon } from '#platform/daemon/contract'
import { isoTime, type ListWindow, Store, usdOf } from '#platform/store/contract'
import { type Run, type RunBeginning, type RunDetail, RunNotFoundError, type Runs, type RunTotals } from './contract.ts'
import type { Counts } from './counts.ts'
import { lastSeqAt } from './logs/log.ts'
import { factsIn, factsOf } from './manifest.ts'
import type { Recorder } from './recorder.ts'
import {
  countRuns,
  deleteRun,
  dropSettings,
  endRun,
  findRun,
  insertRun,
  keepSettings,
  lastEventAt,
  listRunAgents,
  listRuns,
  oldRuns,
  openRuns,
  type RunFilter,
  type RunRow,
  uncountedRuns,
} from './repository.ts'
import { SettingsNow } from './settings.ts'

/** Checked before an id becomes part of a path. */
const RUN_ID = /^run-\d{8}-\d{6}-[0-9a-f]{6}$/

/** Time for which a read waits until logs and totals are current, in milliseconds; while writes wait, they lag. */
const READ_WAIT_MS = 500

/** Filter for runs; `agent` is an id or a name. */
export type WantedRuns = Omit<RunFilter, 'agent_id' | 'alive'> & { agent?: string | undefined }

export const OwnRuns = token<RunDirectory>('runs/runs')

/** Begins, ends and lists runs of daemons and tasks. */
export class RunDirectory implements Runs {
  readonly #svc: PluginHandle
  readonly #recorder: Recorder
  readonly #settings: SettingsNow
  /** Ids of the settings that are written with a run that is about to begin, by run. */
  readonly #due = new Map<string, string>()

  constructor(svc: PluginHandle, recorder: Recorder) {
    this.#svc = svc
    this.#recorder = recorder
    this.#settings = new SettingsNow(svc)
  }

  get #store(): Store {
    return this.#svc.use(Store)
  }

  async begin(kind: string, about: RunBeginning = {}): Promise<string> {
    for (;;) {
      const { run_id, effects } = await this.startEffects(kind, about)
      if (!(await this.#store.apply(effects))) continue
      this.recordStart(run_id, kind)
      return run_id
    }
  }

  async startEffects(kind: string, about: RunBeginning = {}): Promise<{ run_id: string; effects: Effect[] }> {
    const own = JSON.stringify(await factsOf(this.#svc, about))
    const { settings_id, facts, due } = await this.#settings.of(kind)
    const run_id = this.#newId()
    const run = insertRun({ run_id, kind, pid: process.pid, facts: own, settings_id })
    if (due) this.#due.set(run_id, settings_id)
    return { run_id, effects: [...(due ? [keepSettings({ settings_id, facts: JSON.stringify(facts) })] : []), run] }
  }

  recordStart(run_id: string, kind: string): void {
    const settings_id = this.#due.get(run_id)
    if (settings_id !== undefined) this.#settings.markWritten(settings_id)
    this.#due.clear()
    this.#recorder.follow(run_id, kind === 'task')
  }

  /**
   * Begins the run of the daemon that holds the lock.
   * @returns a function that ends the run
   */
  async beginDaemon(): Promise<() => Promise<void>> {
    // This process holds the lock, so no other daemon is alive here.
    await this.#markCrashed(run => run.kind === 'daemon' && this.#isOurs(run))
    const run_id = await this.begin('daemon')
    return () => this.end(run_id, 'stopped')
  }

  /**
   * Begins the run of a process that drives agents beside the project's daemon.
   * @returns a function that ends the run
   */
  async joinDaemon(): Promise<() => Promise<void>> {
    const run_id = await this.begin('daemon')
    return () => this.end(run_id, 'stopped')
  }

  async end(run_id: string, exit: string): Promise<void> {
    await this.#store.apply([this.endEffect(run_id, exit)])
    this.recordEnd(run_id)
  }

  endEffect(run_id: string, exit: string): Effect {
    return endRun({ run_id, exit })
  }

  recordEnd(run_id: string): void {
    void this.#recorder.finish(run_id)
  }

  async prune(keep: number): Promise<number> {
    if (keep <= 0) return 0
    const old = await oldRuns(this.#store, keep)
    for (const run_id of old) {
      await this.#recorder.waitUntilWritten(run_id)
      // Files first: a run without files is still listed, but files without their run would stay forever.
      await this.#svc.ports.files.rm(this.#recorder.folderOf(run_id), { recursive: true, force: true })
      await this.#store.apply([deleteRun({ run_id })])
    }
    if (old.length > 0) await this.#store.apply([dropSettings({})])
    return old.length
  }

  /** Ends the runs of dead processes, and writes the rest of their logs and totals. */
  async recover(): Promise<void> {
    for (const run of await uncountedRuns(this.#store)) {
      if (!(await this.#isAlive(run))) void this.#recorder.finish(run.run_id)
    }
    const dead = new Set<string>()
    for (const run of await openRuns(this.#store)) if (!(await this.#isAlive(run))) dead.add(run.run_id)
    await this.#markCrashed(({ run_id }) => dead.has(run_id))
  }

  async list(wanted: WantedRuns, page: ListWindow): Promise<Run[]> {
    await this.#waitBriefly(this.#refreshAll())
    const rows = await listRuns(this.#store, await this.#filter(wanted), page)
    return Promise.all(rows.map(async row => this.#toRun(await this.#withCounts(row))))
  }

  async count(wanted: WantedRuns): Promise<number> {
    return countRuns(this.#store, await this.#filter(wanted))
  }

  async #filter({ agent, ...rest }: WantedRuns): Promise<RunFilter> {
    const agent_id = agent === undefined ? undefined : (await this.#svc.use(Agents).find(agent)).agent_id
    const alive: string[] = []
    // Only the filter by status depends on which processes are alive.
    if (rest.status) for (const run of await openRuns(this.#store)) if (await this.#isAlive(run)) alive.push(run.run_id)
    return { ...rest, agent_id, alive }
  }

  /** @throws RunNotFoundError, also for an invalid id */
  async detail(run_id: string): Promise<RunDetail> {
    await this.refresh(run_id)
    const row = await this.row(run_id)
    const agents = await listRunAgents(this.#store, run_id)
    const facts = factsIn(row)
    return {
      ...(await this.#toRun(row)),
      ...facts,
      agent_ids: agents.map(({ agent_id }) => agent_id),
      agents_seen: agents.map(({ agent_id, name, model, first_at, last_at, ...counts }) => ({
        agent_id,
        name,
        model,
        first_at: isoTime(first_at),
        last_at: isoTime(last_at),
        ...totalsOf(counts),
      })),
    }
  }

  /** @throws RunNotFoundError */
  async row(run_id: string): Promise<RunRow> {
    const row = RUN_ID.test(run_id) ? await findRun(this.#store, run_id) : undefined
    if (!row) throw new RunNotFoundError({ run_id })
    return row
  }

  /**
   * Brings a run's log and totals up to date if no other process does: runs of this process, and runs whose process is
   * dead or whose files are missing.
   * @throws RunNotFoundError
   */
  refresh(run_id: string): Promise<void> {
    return this.#waitBriefly(this.#refresh(run_id))
  }

  async #refreshAll(): Promise<void> {
    await this.#recorder.flush()
    const open = (await openRuns(this.#store)).map(({ run_id }) => run_id)
    await Promise.all([...new Set([...open, ...this.#recorder.followedRuns])].map(run_id => this.#refresh(run_id)))
  }

  /** Waits for the work, but not long: it needs writes, which a locked database delays, and reads go on. */
  async #waitBriefly(work: Promise<void>): Promise<void> {
    const over = new AbortController()
    await Promise.race([work, this.#svc.clock.sleep(READ_WAIT_MS, over.signal)]).finally(() => over.abort())
  }

  async #refresh(run_id: string): Promise<void> {
    await this.#recorder.flush()
    const row = await this.row(run_id)
    if (this.#recorder.followedRuns.includes(run_id)) return this.#recorder.catchUp(run_id)
    if (row.ended_at === null) return (await this.#isAlive(row)) ? undefined : this.#recorder.catchUp(run_id)
    if (row.counted_seq === 0) {
      const isDone = (await lastEventAt(this.#store, run_id)) === undefined
      return isDone ? undefined : this.#recorder.catchUp(run_id)
    }
    const last = await lastSeqAt(this.#svc.ports.files, this.#recorder.folderOf(run_id)).catch(() => undefined)
    return last === row.counted_seq ? undefined : this.#recorder.catchUp(run_id)
  }

  /** Adds missing totals to an ended run: another process may have ended it a moment ago. */
  async #withCounts(row: RunRow): Promise<RunRow> {
    if (row.ended_at === null || row.counted_seq > 0) return row
    await this.refresh(row.run_id)
    return (await findRun(this.#store, row.run_id)) ?? row
  }

  async statusOf(row: RunRow): Promise<Run['status']> {
    if (row.ended_at !== null) return row.exit === 'crashed' ? 'crashed' : 'ended'
    return (await this.#isAlive(row)) ? 'running' : 'crashed'
  }

  async #markCrashed(which: (run: RunRow) => boolean): Promise<void> {
    for (const run of (await openRuns(this.#store)).filter(which)) {
      const at = (await lastEventAt(this.#store, run.run_id)) ?? run.started_at
      await this.#store.apply([endRun({ run_id: run.run_id, exit: 'crashed', at })])
      void this.#recorder.finish(run.run_id)
    }
  }

  /** Returns whether this machine can tell if the run's process is alive. */
  #isOurs(row: RunRow): boolean {
    return (factsIn(row).place ?? '') === this.#store.place
  }

  async #isAlive(row: RunRow): Promise<boolean> {
    const { kind, pid } = row
    if (!this.#isOurs(row)) return kind !== 'daemon' || this.#store.hasOtherDaemons(factsIn(row).place)
    if (pid === process.pid) return true
    if (kind === 'daemon' && this.#svc.has(Daemon)) {
      const daemons = await this.#svc
        .use(Daemon)
        .list()
        .catch(error => this.#svc.log.warn({}, errorMessage(error)))
      if (daemons) return daemons.some(({ alive, holder }) => alive && holder.pid === pid)
    }
    return exists(pid)
  }

  async #toRun(row: RunRow): Promise<Run> {
    const { run_id, kind, started_at, ended_at, exit, agents } = row
    const { heartbeat, default_model } = factsIn(row)
    const until = ended_at ?? (await this.#endOf(row))
    return {
      run_id,
      kind,
      exit,
      agents,
      heartbeat,
      model: default_model,
      status: await this.statusOf(row),
      started_at: isoTime(started_at),
      ended_at: isoTime(ended_at),
      duration_s: Math.max(0, Math.round((until - started_at) / 100) / 10),
      ...totalsOf(row),
    }
  }

  async #endOf(row: RunRow): Promise<number> {
    if (await this.#isAlive(row)) return this.#svc.clock.ms()
    return (await lastEventAt(this.#store, row.run_id)) ?? row.started_at
  }

  #newId(): string {
    const { ids } = this.#svc.ports
    const [date, time] = this.#svc.clock.now().toISOString().replaceAll(/[-:]/g, '').split(/[T.]/)
    return `run-${date}-${time}-${ids.make('run', 6).slice('run-'.length)}`
  }
}

/** Converts totals to their form in the API. */
function totalsOf({ input_tokens, output_tokens, cost_micros, ...counts }: Counts): RunTotals {
  const { cycles, goals_generated, goals_completed, goals_abandoned, model_calls, tool_calls, tool_failures } = counts
  return {
    cycles,
    goals_generated,
    goals_completed,
    goals_abandoned,
    model_calls,
    tool_calls,
    tool_failures,
    tokens: input_tokens + output_tokens,
    cost_usd: usdOf(cost_micros),
  }
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
