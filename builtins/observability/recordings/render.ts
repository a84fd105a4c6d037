import { pluralize } from '#lib/pluralize'
import type { RecordedStep, Recording, ReplayVerdict, RunDiff } from './contract.ts'
import { differencesOf } from './diff.ts'

const LONGEST = 400

export function renderVerdict(verdict: ReplayVerdict): string {
  const { run_id, same, events, cycles, steps, hash, replayed_hash, duration_ms, divergence, notes } = verdict
  const size = `${pluralize(events, 'event')}, ${pluralize(cycles, 'cycle')}, ${pluralize(steps, 'step')}`
  const lines = notes.map(note => `note: ${note}`)
  if (same) return [`${run_id}: identical (${size}, ${duration_ms / 1000} s)`, `sha256 ${hash}`, ...lines].join('\n')
  const { agent_id, cycle_num, step, what, expected, got } = divergence!
  const where = [agent_id, cycle_num === null ? null : `cycle ${cycle_num}`, `after step ${step}`].filter(Boolean)
  return [
    `${run_id}: differs from the recording`,
    `where     ${where.join(', ')}`,
    `what      ${what}`,
    `expected  ${expected.slice(0, LONGEST)}`,
    `got       ${got.slice(0, LONGEST)}`,
    `replayed  ${size}`,
    `sha256    ${hash} recorded, ${replayed_hash} replayed`,
    ...lines,
  ].join('\n')
}

export function renderDiff({ same, common, divergence, a, b }: RunDiff): string {
  if (same) return `${a.run_id} and ${b.run_id} are the same: ${pluralize(common, 'event')}`
  const rows = (['events', 'cycles', 'steps', 'tool_calls', 'goals_completed', 'tokens', 'cost_usd'] as const).map(
    key => {
      return [key.replaceAll('_', ' '), a[key], b[key], a.after[key], b.after[key]].map(String)
    },
  )
  const table = [['', 'A', 'B', 'A AFTER', 'B AFTER'], ...rows]
  const widths = table[0]!.map((_, n) => Math.max(...table.map(row => row[n]!.length)))
  const { agent_id, cycle_num } = divergence!
  const [first, second] = differencesOf(divergence!.a, divergence!.b)
  return [
    `A  ${a.run_id}`,
    `B  ${b.run_id}`,
    `identical for ${pluralize(common, 'event')}; then${agent_id ? ` in ${agent_id}` : ''}${cycle_num === null ? '' : `, cycle ${cycle_num}`}:`,
    `A  ${first.slice(0, LONGEST)}`,
    `B  ${second.slice(0, LONGEST)}`,
    '',
    ...table.map(row =>
      row.map((cell, n) => (n === 0 ? cell.padEnd(widths[n]!) : cell.padStart(widths[n]!))).join('  '),
    ),
  ].join('\n')
}

export function renderRecording({
  steps_taken,
  ...about
}: Omit<Recording, 'config' | 'secrets'> & { steps_taken: readonly RecordedStep[] }): string {
  const { run_id, kind, cycles, steps, bytes, state_bytes, cut, inexact, forked_from } = about
  const from = forked_from ? [`forked from ${forked_from.run_id} at step ${forked_from.step}`] : []
  const lacks = [...(cut ? [`incomplete: ${cut}`] : []), ...inexact.map(note => `note: ${note}`)]
  const rows = steps_taken.map(
    ({ step, agent_id, cycle_num, says }) => `${step}  ${agent_id}  cycle ${cycle_num}  ${says}`,
  )
  const size = `${pluralize(cycles, 'cycle')}, ${pluralize(steps, 'step')}, ${kilo(bytes)} recorded, initial database ${kilo(state_bytes)}`
  return [`${run_id} (${kind}): ${size}`, ...from, ...lacks, ...rows].join('\n')
}

function kilo(bytes: number): string {
  return bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`
}
