import type { AgentStatus } from './types.ts'

const WORDS: Record<string, string> = {
  waiting_approval: 'needs approval',
  waiting_answer: 'needs an answer',
  consumed: 'approved, ran',
}

/** Status of an agent, a goal or a run: a coloured dot, and the word. */
export function Status({ of }: { of: AgentStatus | (string & {}) }) {
  return <span class={`status is-${of.replaceAll('_', '-')}`}>{WORDS[of] ?? of.replaceAll('_', ' ')}</span>
}

export function Tag({
  children,
  kind = '',
}: {
  children: preact.ComponentChildren
  kind?: '' | 'good' | 'warn' | 'bad'
}) {
  return <span class={`tag ${kind}`}>{children}</span>
}
