import { labelOf, sharedNames } from '../../ui/text/agent-names.ts'
import type { Answer, Item } from '../../ui/types.ts'

export type Graph = Answer<'messages.graph'>
export type Member = Graph['agents'][number]
type Type = Item<'messages.list'>['type']

/** Kinds of conversation: groups of message types, each with a colour in the stylesheet. */
export const KINDS = ['work', 'question', 'review', 'delegation'] as const
export type Kind = (typeof KINDS)[number]
const KIND_OF: Record<Type, Kind> = {
  request: 'work',
  response: 'work',
  query: 'question',
  answer: 'question',
  review: 'review',
  feedback: 'review',
  delegate: 'delegation',
  ack: 'delegation',
  reject: 'delegation',
} as Record<Type, Kind>
export const KIND_NAMES: Record<Kind, string> = {
  work: 'Requests',
  question: 'Questions',
  review: 'Reviews',
  delegation: 'Delegations',
}

/** Two agents that exchange messages, in either direction. */
export interface Pair {
  key: string
  one: Member
  other: Member
  messages: number
  /** Number of messages that `one` sent. */
  sent: number
  kinds: Partial<Record<Kind, number>>
  /** Most frequent kind of message. */
  kind: Kind
  last_at: string
}

/** Returns the graph with names that tell its agents apart. */
export function withLabels(graph: Graph): Graph {
  const shared = sharedNames(graph.agents)
  return { ...graph, agents: graph.agents.map(agent => ({ ...agent, name: labelOf(agent, shared) })) }
}

const keyOf = (a: string, b: string) => (a < b ? `${a} ${b}` : `${b} ${a}`)

/** Returns the pairs of agents, most messages first. */
export function pairsOf({ agents, edges }: Graph): Pair[] {
  const members = new Map(agents.map(member => [member.agent_id, member]))
  const pairs = new Map<string, Pair>()
  for (const { from_agent, to_agent, messages, types, last_at } of edges) {
    const [one, other] = [members.get(from_agent), members.get(to_agent)]
    if (!one || !other) continue
    const key = keyOf(from_agent, to_agent)
    const had = pairs.get(key)
    const pair: Pair = had ?? { key, one, other, messages: 0, sent: 0, kinds: {}, kind: 'work', last_at }
    pairs.set(key, pair)
    pair.messages += messages
    if (pair.one.agent_id === from_agent) pair.sent += messages
    for (const [type, n] of Object.entries(types)) {
      const kind = KIND_OF[type as Type]
      pair.kinds[kind] = (pair.kinds[kind] ?? 0) + n
    }
    pair.kind = KINDS.reduce((most, kind) => ((pair.kinds[kind] ?? 0) > (pair.kinds[most] ?? 0) ? kind : most), 'work')
    if (last_at > pair.last_at) pair.last_at = last_at
  }
  return [...pairs.values()].sort((a, b) => b.messages - a.messages || (a.key < b.key ? -1 : 1))
}
