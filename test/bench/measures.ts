import { readFile } from 'node:fs/promises'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'

/** Frequency of the clock in /proc: 100 on every Linux. */
const TICKS_A_SECOND = 100
const MIB = 2 ** 20

/** Returns the processor time that this process has used, in milliseconds. */
export function cpu(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** Returns the processor time that a running process has used, in milliseconds, to 10 ms. */
export async function cpuOf(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, 'latin1')
  // The fields before may contain spaces and brackets.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_A_SECOND
}

/** Returns the resident memory of a process, in mebibytes. */
export async function residentOf(pid: number): Promise<number> {
  const [, pages] = (await readFile(`/proc/${pid}/statm`, 'latin1')).split(' ')
  return (Number(pages) * 4096) / MIB
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

export const median = (values: readonly number[]) => percentile(values, 0.5)

/**
 * Returns the 95 % confidence interval of the median, for any distribution: the ranks on both sides of the middle one,
 * by the normal approximation of the binomial distribution (Conover, Practical Nonparametric Statistics, 3.2).
 */
export function sureOf(values: readonly number[]): [low: number, high: number] {
  const sorted = values.toSorted((a, b) => a - b)
  const [middle, away] = [(sorted.length - 1) / 2, (1.96 * Math.sqrt(sorted.length)) / 2]
  return [
    sorted[Math.max(0, Math.floor(middle - away))]!,
    sorted[Math.min(sorted.length - 1, Math.ceil(middle + away))]!,
  ]
}

/** Returns the processor time that the work took in this process, in milliseconds. */
export async function costOf(work: () => unknown): Promise<number> {
  const before = cpu()
  await work()
  return cpu() - before
}

/**
 * Measures two kinds of work in turn, A B A B, so that other load on the machine affects both. @returns the medians,
 * and the ratio of each round
 */
export async function inTurn(
  rounds: number,
  a: (round: number) => Promise<number>,
  b: (round: number) => Promise<number>,
): Promise<{ a: number; b: number; ratio: number; ratios: number[] }> {
  const found: { a: number; b: number }[] = []
  for (let round = 0; round < rounds; round++) {
    found.push(round % 2 ? swapPair(await b(round), await a(round)) : { a: await a(round), b: await b(round) })
  }
  const ratios = found.map(each => each.a / each.b)
  return { a: median(found.map(each => each.a)), b: median(found.map(each => each.b)), ratio: median(ratios), ratios }
}

const swapPair = (b: number, a: number) => ({ a, b })

/** Measures how late the event loop is during some work, in milliseconds of wall time. */
export async function lagDuring(work: () => unknown): Promise<{ p99: number; max: number }> {
  const lag = monitorEventLoopDelay({ resolution: 5 })
  lag.enable()
  await work()
  lag.disable()
  return { p99: Math.max(0, lag.percentile(99) / 1e6 - 5), max: Math.max(0, lag.max / 1e6 - 5) }
}

/** Measures how late timers are in a process that does nothing else: no program on this machine can do better. */
export function idleLag(milliseconds = 1_000): Promise<{ p99: number; max: number }> {
  return lagDuring(() => sleep(milliseconds))
}

/** Turns shorter than this did nothing, in milliseconds. */
const EMPTY_TURN = 0.05

/**
 * Measures how long turns of the event loop take in processor time, in milliseconds: the lag on an otherwise idle
 * machine.
 */
export async function turnsDuring(work: () => unknown): Promise<{ p99: number; max: number }> {
  const turns: number[] = []
  let going = true
  let before = cpu()
  const look = () => {
    const now = cpu()
    if (now - before > EMPTY_TURN) turns.push(now - before)
    before = now
    if (going) setImmediate(look)
  }
  setImmediate(look)
  await work()
  going = false
  return { p99: percentile(turns, 0.99), max: percentile(turns, 1) }
}
