import type { Operations } from '../../builtins/interfaces/rest/client-operations.ts'

/** Output of an operation, as in the server's own schemas. */
export type Answer<N extends keyof Operations> = Operations[N] extends { output: infer O } ? O : never
export type Item<N extends keyof Operations> = Answer<N> extends readonly (infer I)[] ? I : never

export type Agent = Answer<'agents.get'>
export type AgentStatus = Agent['status']
export type Goal = Item<'goals.list'>
export type Approval = Answer<'approvals.show'>
/** Pending approval, as the queue lists it. */
export type Waiting = Item<'approvals.queue'>
/** A question that waits for the operator's answer. */
export type Question = Item<'questions.list'>
export type Fleet = Answer<'agents.fleet'>
/** An agent as the fleet shows it. */
export type Member = Fleet['agents'][number]
/** A key of the configuration. */
export type Key = Item<'config.keys'>
export type Task = Item<'tasks.list'>
