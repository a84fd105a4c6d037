import type { HandWritten } from '#interfaces/cli/context'
import { StatusLines } from '#interfaces/cli/process/status-lines'
import { warningsOn } from '#interfaces/cli/process/warnings'
import { cannotWrite } from '#interfaces/cli/project/make-files'
import { findProject } from '#interfaces/cli/project/project'
import { endSignal, INTERRUPTED } from '#interfaces/cli/screen/interrupt'
import { printable, printableJson } from '#interfaces/cli/screen/printable'
import type { Kernel } from '#kernel'
import { pluralize } from '#lib/pluralize'
import { replaceFile } from '#lib/yaml'
import type { FaultLevel, SimulatedRun } from './contract.ts'
import { simulateProject } from './simulation.ts'

/** Printed when a second run of the same seed has another event log. */
const DIFFERS =
  'Repeated, the run differed: a plugin reads time, randomness, files or network without svc, or keeps state outside setup.'
/** Number of runs between two reports of progress. */
const SHOWN_EVERY = 5

interface SimulateInput {
  seed: number
  seeds: number
  cycles: number
  faults: FaultLevel
  presets?: string[]
}

/** Totals of all runs. */
type Sums = Record<'worlds' | 'cycles' | 'model_calls' | 'tool_runs' | 'acts' | 'kills' | 'faults' | 'checks', number>

/**
 * Simulates runs with many seeds.
 * @returns 1 when an invariant was violated, which is printed with the command that repeats the run, or when a plugin
 * is not live
 */
const simulate: HandWritten = async (input, context) => {
  const { terminal, ports, program, json, named } = context
  const asked = askedFor(input)
  const root = await findProject(ports, named)
  const signal = endSignal()
  await using kernel = await program.open({
    root,
    roles: ['cli'],
    log: { level: 'error', write: warningsOn(terminal) },
  })
  const refused = kernel.host.list().filter(({ state }) => state === 'failed')
  if (refused.length > 0) {
    const names = refused.map(({ name }) => name).join(', ')
    terminal.err(printable(`svc: cannot simulate without ${names}, which failed to load; see: svc plugins`))
    return 1
  }
  const stand = new StatusLines(terminal, json)
  const sums: Sums = { worlds: 0, cycles: 0, model_calls: 0, tool_runs: 0, acts: 0, kills: 0, faults: 0, checks: 0 }
  let last: SimulatedRun | undefined
  for await (const run of simulateProject(kernel, asked, signal)) {
    last = run
    add(sums, run)
    if (run.violation) break
    if (sums.worlds % SHOWN_EVERY === 0)
      stand.show([`${sums.worlds} of ${asked.seeds} runs, ${pluralize(sums.cycles, 'cycle')}`])
  }
  stand.end()
  if (typeof input.log === 'string' && last) {
    const file = input.log
    await replaceFile(ports.files, file, last.log.join('')).catch(error => {
      throw cannotWrite(file, error)
    })
  }
  const again = last?.violation ? commandFor(asked, last.seed, named) : null
  const repeats = last?.violation ? await isSame(kernel, asked, last, signal) : null
  if (json) {
    const { log: _, ...latest } = last ?? { log: [] }
    terminal.out(printableJson(JSON.stringify({ ...sums, last: latest, again, repeats }, null, 2)))
  } else terminal.out(printable(resultLines(sums, last, again, repeats).join('\n')))
  if (last?.violation) return 1
  return signal.aborted ? INTERRUPTED : 0
}
export default simulate

/** @returns null when the signal ended the repetition */
async function isSame(
  kernel: Kernel,
  asked: SimulateInput,
  { seed, hash }: SimulatedRun,
  signal: AbortSignal,
): Promise<boolean | null> {
  for await (const again of simulateProject(kernel, { ...asked, seed, seeds: 1 }, signal)) return again.hash === hash
  return null
}

function askedFor(input: Readonly<Record<string, unknown>>): SimulateInput {
  const { seed = 1, seeds = 1, cycles = 50, faults = 'some', profile } = input
  const presets = String(profile ?? '')
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '')
  return {
    seed: Number(seed),
    seeds: Number(seeds),
    cycles: Number(cycles),
    faults: faults as FaultLevel,
    ...(presets.length > 0 ? { presets } : {}),
  }
}

function add(sums: Sums, { cycles, model_calls, tool_runs, acts, kills, faults, checks }: SimulatedRun): void {
  const more = { worlds: 1, cycles, model_calls, tool_runs, acts, kills, checks }
  for (const [name, value] of Object.entries(more)) sums[name as keyof Sums] += value
  sums.faults += Object.values(faults).reduce((sum, times) => sum + times, 0)
}

function commandFor({ cycles, faults, presets }: SimulateInput, seed: number, named: string | undefined): string {
  const profile = presets ? ` --profile ${presets.join(',')}` : ''
  const root = named === undefined ? '' : ` --root "${named}"`
  return `svc simulate --seed ${seed} --cycles ${cycles} --faults ${faults}${profile}${root}`
}

function resultLines(
  sums: Sums,
  last: SimulatedRun | undefined,
  again: string | null,
  repeats: boolean | null,
): string[] {
  const lines = [
    `${count(sums.worlds, 'run')}: ${count(sums.cycles, 'cycle')}, ${count(sums.model_calls, 'model call')}, ${count(sums.tool_runs, 'tool run')}, ${count(sums.acts, 'operator action')}`,
    `${count(sums.faults, 'injected fault')}, ${count(sums.kills, 'kill')}; ${count(sums.checks, 'check')} of invariants`,
  ]
  if (last) lines.push(`event log of seed ${last.seed}: ${last.hash}`)
  if (!last?.violation) return lines
  const { invariant, promise, found, at_s } = last.violation
  const broken = ['', `Seed ${last.seed} violates ${invariant} after ${at_s} s: ${promise}`, found]
  return [...lines, ...broken, ...(repeats === false ? [DIFFERS] : []), `Repeat: ${again}`]
}

function count(number: number, what: string): string {
  return `${number.toLocaleString('en')} ${what}${number === 1 ? '' : 's'}`
}
