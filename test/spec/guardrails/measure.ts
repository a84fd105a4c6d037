import { readFileSync } from 'node:fs'
import { GuardrailsConfig } from '../../../builtins/guardrails/config.ts'
import type { Checked, Stage } from '../../../builtins/guardrails/contract.ts'
import { configuredRules } from '../../../builtins/guardrails/rules.ts'
import { scan } from '../../../builtins/guardrails/scan.ts'
import { systemPorts } from '../../../kernel/index.ts'
import { injectionCorpus } from './injections.ts'
import { cleanCorpus, piiCorpus } from './pii.ts'

export interface Quality {
  lines: string[]
  found(kind: string): number
  cleanChanged: number
  caught: number
  plain: number
  falseAlarms: number
}

const { clock } = systemPorts()

/** Checks texts as the stages do, with the rules of the defaults. */
export function scanner(stages: readonly Stage[]): (text: string) => Promise<Checked> {
  const rules = configuredRules(GuardrailsConfig.parse({}), () => ['a-secret-of-the-project']).filter(rule =>
    rule.stages.some(stage => stages.includes(stage)),
  )
  const failed = (_: unknown, error: unknown): never => {
    throw error
  }
  return text => scan(text, rules, { clock, failed })
}

/** What is found in the corpora, and how long that takes. */
export async function figures(): Promise<Quality> {
  const input = scanner(['input'])
  const output = scanner(['output'])
  const texts = piiCorpus(1500)
  const clean = [...texts.filter(({ values }) => values.length === 0).map(({ text }) => text), ...cleanCorpus(1500)]
  const kinds = new Map<string, { all: number; found: number }>()
  for (const { text, values } of texts) {
    const checked = await output(text)
    for (const { kind, value } of values) {
      const count = kinds.get(kind) ?? { all: 0, found: 0 }
      kinds.set(kind, { all: count.all + 1, found: count.found + (checked.text.includes(value) ? 0 : 1) })
    }
  }
  const changed = await count(clean, async text => (await output(text)).action !== 'pass')
  const falseAlarms = await count(texts, async ({ text }) => (await input(text)).action !== 'pass')
  const injections = injectionCorpus()
  const tally = new Map<string, { all: number; blocked: number; flagged: number }>()
  for (const { kind, text } of injections) {
    const { action } = await input(text)
    const { all, blocked, flagged } = tally.get(kind) ?? { all: 0, blocked: 0, flagged: 0 }
    const is = (wanted: string) => (action === wanted ? 1 : 0)
    tally.set(kind, { all: all + 1, blocked: blocked + is('block'), flagged: flagged + is('flag') })
  }
  const sum = (of: 'blocked' | 'flagged') => [...tally.values()].reduce((all, each) => all + each[of], 0)
  return {
    found: kind => (kinds.get(kind)?.found ?? 0) / (kinds.get(kind)?.all ?? 1),
    cleanChanged: changed / clean.length,
    caught: sum('blocked') / injections.length,
    plain: tally.get('plain')?.blocked ?? 0,
    falseAlarms,
    lines: [
      `personal data, found in ${texts.length} generated texts:`,
      ...[...kinds].map(([kind, { all, found }]) => `  ${kind.padEnd(14)} ${found}/${all}`),
      `  clean texts changed: ${changed}/${clean.length}`,
      `injections: blocked ${sum('blocked')} and only flagged ${sum('flagged')} of ${injections.length}:`,
      ...[...tally].map(
        ([kind, { all, blocked, flagged }]) =>
          `  ${kind.padEnd(14)} ${blocked}/${all}${flagged ? `, flagged ${flagged}` : ''}`,
      ),
      `  false alarms: ${falseAlarms}/${texts.length}`,
    ],
  }
}

/** Milliseconds of processor time for a text, of the generated ones, and for a megabyte of each hostile kind. */
export async function costs(): Promise<string[]> {
  const texts = piiCorpus(1500).map(({ text }) => text)
  const lines: string[] = []
  for (const stage of ['input', 'output'] as const) {
    const scan = scanner([stage])
    const all = async () => {
      for (const text of texts) await scan(text)
    }
    await all()
    lines.push(`${stage}: ${((await timed(all)) / texts.length).toFixed(3)} ms a text`)
    const each = []
    for (const [name, text] of Object.entries(hostile)) {
      for (let use = 0; use < 2; use++) await scan(text.slice(0, 2000))
      each.push([name, await timed(() => scan(text))] as const)
    }
    const [name, worst] = each.reduce((a, b) => (b[1] > a[1] ? b : a))
    const middle = each.map(([, ms]) => ms).sort((a, b) => a - b)[Math.floor(each.length / 2)] ?? 0
    lines.push(`${stage}: a hostile megabyte takes ${middle.toFixed(0)} ms, at worst ${worst.toFixed(0)} ms (${name})`)
  }
  return lines
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begun = threadTime()
  await work()
  return threadTime() - begun
}

/** Milliseconds that this thread had a processor, because others may have it in between; where nobody counts that, all of them. */
export function threadTime(): number {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1e6
  } catch {
    return performance.now()
  }
}

async function count<T>(all: readonly T[], is: (each: T) => Promise<boolean>): Promise<number> {
  let sum = 0
  for (const each of all) if (await is(each)) sum++
  return sum
}

const megabyte = (piece: string) => piece.repeat(Math.ceil(1e6 / piece.length)).slice(0, 1e6)
/** What makes expressions that are not linear take for ever. */
const PIECES: Record<string, string> = {
  letters: 'a',
  digits: '1',
  'digits in pairs': '12-',
  'nearly addresses': 'aaaaaaaaaaaaaaaaaaaaaaaa@',
  'nearly orders': 'ignore all old ',
  'nearly leaks': 'send secrets ',
  'nearly tokens': 'eyJaaaaaaaa.',
  'nearly keys': '-----BEGIN PRIVATE KEY-----',
  'nearly images': '![',
  hyphens: '-',
  base64: 'aWdub3JlIGFsbCBwcmV2aW91cyBp',
  escapes: '%69',
  accents: 'ï\u200bg',
  chinese: '忽略之前的',
  rot13: 'vtaber ',
  backwards: 'erongi ',
  blanks: ' ',
}
export const hostile: Record<string, string> = {
  ...Object.fromEntries(Object.entries(PIECES).map(([name, piece]) => [name, megabyte(piece)])),
  'every character': Array.from({ length: 3e5 }, (_, n) => String.fromCodePoint(0x100 + ((n * 7) % 0xd000))).join(''),
}
