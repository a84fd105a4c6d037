import { type AgentStatus, type Fleet, type FleetMember, type FleetQuery, STUCK } from './contract.ts'

/** Maximum number of reasons, and of names, in a summary. */
const SHOWN = { reasons: 4, names: 3 }

/** Created at first use: loading ICU's tables takes 8 ms. */
let collator: Intl.Collator | undefined

type Key = string | number | null

/** Sort keys of members; those without a value come last. */
const KEYS: Record<string, (member: FleetMember) => Key> = {
  name: ({ name }) => name,
  status: ({ status }) => status,
  next: ({ next_run_at }) => timeOf(next_run_at),
  active: ({ last_active }) => timeOf(last_active),
  cost: ({ cost_usd, tokens }) => cost_usd * 1e9 + tokens,
}

/** Filters, sorts and pages a fleet, and computes the totals of all members. */
export function fleetPage(members: readonly FleetMember[], query: FleetQuery): Fleet {
  const { all, limit = Number.POSITIVE_INFINITY, offset } = query
  const shown = all ? members : members.filter(member => !isEnded(member))
  const matching = sortMembers(shown.filter(matcher(query)), query.sort)
  return {
    agents: matching.slice(offset, offset + limit),
    matching: matching.length,
    summary: { ...summaryOf(members, shown), hidden: members.length - shown.length },
  }
}

const timeOf = (at: string | null) => (at === null ? null : Date.parse(at))
const isEnded = ({ spawned_by, status }: FleetMember) => spawned_by !== null && status === 'dead'
const isAsking = ({ status }: FleetMember) => status === 'waiting_approval'

function matcher({ q, status }: FleetQuery): (member: FleetMember) => boolean {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean)
  return member => {
    if (status && !(status === STUCK ? member.stuck : member.status === status)) return false
    if (words.length === 0) return true
    const { agent_id, name, goal, model, held } = member
    const text = `${agent_id} ${name} ${goal ?? ''} ${model} ${held ?? ''}`.toLowerCase()
    return words.every(word => text.includes(word))
  }
}

function sortMembers(members: readonly FleetMember[], sort: FleetQuery['sort']): FleetMember[] {
  const key = sort === 'need' ? needOf : KEYS[sort.replace(/^-/, '')]!
  const sign = sort.startsWith('-') ? -1 : 1
  collator ??= new Intl.Collator('en', { numeric: true })
  const { compare } = collator
  const keyed = members.map(member => ({ member, key: key(member) }))
  keyed.sort((a, b) => {
    if (a.key === null || b.key === null) return Number(a.key === null) - Number(b.key === null)
    return sign * (typeof a.key === 'string' ? compare(a.key, String(b.key)) : a.key - Number(b.key))
  })
  return keyed.map(({ member }) => member)
}

const LAST: Partial<Record<AgentStatus, number>> = { paused: 3, dead: 4 }

/** Ranks agents that need the operator first, and paused or dead ones last; ties are sorted by age. */
function needOf(member: FleetMember): number {
  if (member.waits_for === 'approval' || member.waits_for === 'answer') return 0
  return member.stuck ? 1 : (LAST[member.status] ?? 2)
}

function summaryOf(members: readonly FleetMember[], shown: readonly FleetMember[]): Omit<Fleet['summary'], 'hidden'> {
  const statuses: Fleet['summary']['statuses'] = {}
  for (const { status } of shown) statuses[status] = (statuses[status] ?? 0) + 1
  const stuck = shown.filter(({ stuck }) => stuck)
  const reasons = [...groupBy(stuck, reasonOf)].sort(([, a], [, b]) => b.length - a.length)
  return {
    total: shown.length,
    statuses,
    stuck: stuck.length,
    next: nextOf(shown),
    // Hidden agents count too: their cost was spent.
    cost_usd: sum(members, ({ cost_usd }) => cost_usd),
    tokens: sum(members, ({ tokens }) => tokens),
    asking: first(shown.filter(isAsking)).map(({ agent_id, name, held }) => ({ agent_id, name, held: held ?? '' })),
    reasons: reasons.slice(0, SHOWN.reasons).map(([reason, group]) => ({
      reason,
      agents: group.length,
      first: first(group).map(({ agent_id, name }) => ({ agent_id, name })),
    })),
  }
}

const first = (members: readonly FleetMember[]) => members.slice(0, SHOWN.names)

/** Returns what blocks a member, without the number of failures. */
const reasonOf = ({ held }: FleetMember) => held!.replace(/^Failed (once|\d+ times in a row): /, '')

function nextOf(members: readonly FleetMember[]): Fleet['summary']['next'] {
  let next: FleetMember | undefined
  for (const each of members)
    if (each.next_run_at !== null && (!next || each.next_run_at < next.next_run_at!)) next = each
  return next ? { agent_id: next.agent_id, name: next.name, at: next.next_run_at! } : null
}

function groupBy(members: readonly FleetMember[], keyOf: (member: FleetMember) => string): Map<string, FleetMember[]> {
  const groups = new Map<string, FleetMember[]>()
  for (const member of members) {
    const key = keyOf(member)
    const group = groups.get(key)
    if (group) group.push(member)
    else groups.set(key, [member])
  }
  return groups
}

const sum = (members: readonly FleetMember[], of: (member: FleetMember) => number) =>
  members.reduce((total, member) => total + of(member), 0)
