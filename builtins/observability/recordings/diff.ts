import type { EventRow } from '#platform/store/contract'
import type { RunDiff } from './contract.ts'
import { lineOf } from './log.ts'

/** Names of fields that differ in every run: generated ids, times, durations and costs. */
const MADE = /_id$|^id$|_ids$|^duration|_ms$|^at$|_at$|^cost_usd$/
/** Ids and times within a string. */
const MADE_TEXT = /\b[a-z]+-[0-9a-f]{6,12}\b|\b[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z\b/g

interface SideOf {
  run_id: string
  events: readonly EventRow[]
}

/** Compares two runs: their first difference, and what each did and cost, in total and after it. */
export function diffOf(a: SideOf, b: SideOf): RunDiff {
  const [left, right] = [shapesOf(a.events), shapesOf(b.events)]
  let common = 0
  while (common < left.length && common < right.length && left[common] === right[common]) common++
  const same = common === left.length && common === right.length
  const [first, second] = [a.events[common], b.events[common]]
  const { agent_id = null, cycle_num = null } = first ?? second ?? {}
  return {
    same,
    common,
    divergence: same
      ? null
      : {
          agent_id,
          cycle_num,
          a: first ? lineOf(first) : '(end of the log)',
          b: second ? lineOf(second) : '(end of the log)',
        },
    a: { run_id: a.run_id, ...sumOf(a.events), after: sumOf(a.events.slice(common)) },
    b: { run_id: b.run_id, ...sumOf(b.events), after: sumOf(b.events.slice(common)) },
  }
}

/** Returns events without values that always differ; agents are named by the order of their appearance. */
function shapesOf(events: readonly EventRow[]): string[] {
  const agents = new Map<string, string>()
  const nameOf = (agent_id: string) => {
    const name = agents.get(agent_id) ?? `agent ${agents.size + 1}`
    agents.set(agent_id, name)
    return name
  }
  return events.map(({ type, agent_id, cycle_num, data }) => {
    const who = agent_id === null ? null : nameOf(agent_id)
    const plain = JSON.parse(data, (key, value: unknown) => {
      if (MADE.test(key)) return undefined
      return typeof value === 'string' ? value.replaceAll(MADE_TEXT, '…') : value
    }) as unknown
    return JSON.stringify([type, who, cycle_num, plain])
  })
}

/** Returns two lines of the event log as text: what differs in events of one type, else the whole lines. */
export function differencesOf(a: string, b: string): readonly [string, string] {
  if (!a.startsWith('{') || !b.startsWith('{')) return [a, b]
  const [left, right] = [a, b].map(line => JSON.parse(line, (key, value) => (MADE.test(key) ? undefined : value)))
  const fields = [differing(left.data, right.data), differing(right.data, left.data)].map(each => JSON.stringify(each))
  if (left.type !== right.type || fields.every(each => each === '{}')) return [a, b]
  return [`${left.type} ${fields[0]}`, `${right.type} ${fields[1]}`]
}

/** Returns the fields of an object that another one does not have, or has with other values. */
function differing(value: unknown, other: unknown): unknown {
  const isObject = (each: unknown): each is Record<string, unknown> =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
  if (!isObject(value) || !isObject(other)) return value
  const fields = Object.entries(value).filter(([key, each]) => JSON.stringify(each) !== JSON.stringify(other[key]))
  return Object.fromEntries(fields.map(([key, each]) => [key, differing(each, other[key])]))
}

function sumOf(events: readonly EventRow[]) {
  const sum = { events: events.length, cycles: 0, steps: 0, tool_calls: 0, goals_completed: 0, tokens: 0, cost_usd: 0 }
  let micros = 0
  for (const { type, data } of events) {
    if (type === 'cycle_done') sum.cycles++
    else if (type === 'tool_result') sum.tool_calls++
    else if (type === 'goal_completed') sum.goals_completed++
    else if (type === 'model_called') {
      const { input_tokens = 0, output_tokens = 0, cost_usd = 0 } = JSON.parse(data) as Record<string, number>
      sum.steps++
      sum.tokens += input_tokens + output_tokens
      micros += Math.round(cost_usd * 1e6)
    }
  }
  return { ...sum, cost_usd: micros / 1e6 }
}
