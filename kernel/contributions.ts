import { z } from 'zod'
import { ConflictError } from './errors.ts'
import { verdictOf } from './fields.ts'
import type { Busy, Effect } from './lease.ts'
import { point } from './points.ts'

/** A question before a phase: may it be entered? */
export interface Gate {
  phase: string
  agent_id: string
  cycle_num: number
  at: Date
}

export interface Guard {
  name?: string
  /** False keeps the phase from being entered. */
  shouldProceed(gate: Gate): boolean | Promise<boolean>
}

export interface GuardOptions {
  name?: string
  failClosed?: boolean
  /** The agents without a goal that it may stop; all by default. */
  busy?: Busy
}

export interface RegisteredGuard {
  name: string
  /** A phase's name, or `*` for all. */
  phase: string
  guard: Guard
  /** What an error of the guard means: true vetoes the phase, false lets it pass. */
  failClosed: () => boolean
  /** Called with an error, before the rule above applies. */
  failed: (gate: Gate, error: unknown) => void
  /** The agents without a goal that it may stop; all by default. */
  busy?: Busy
}

export const Guards = point<RegisteredGuard>('guards', {
  key: registered => `${registered.phase}/${registered.name}`,
  has: { name: 'text', phase: 'text', failClosed: 'function', failed: 'function' },
  // Asked before each phase of each cycle: one that answers at once is not waited for.
  ask(registered, gate: Gate) {
    if (registered.phase !== '*' && registered.phase !== gate.phase) return undefined
    const { name, guard } = registered
    const judged = (verdict: boolean) => (verdict ? undefined : name)
    try {
      const verdict = verdictOf(name, guard.shouldProceed(gate))
      if (typeof verdict === 'boolean') return judged(verdict)
      return verdict.then(judged).catch(error => thrown(registered, gate, error))
    } catch (error) {
      return thrown(registered, gate, error)
    }
  },
})

function thrown({ name, failClosed, failed }: RegisteredGuard, gate: Gate, error: unknown): string | undefined {
  failed(gate, error)
  return failClosed() ? name : undefined
}

/** What woke the daemon: a reason for all agents, or for the agents named. */
export type Wake = string | { reason: string; agents: readonly string[] }

export interface WakeSource {
  name: string
  /** Resolves when there is a reason to wake; asked again after each answer. Ends when the signal is aborted. */
  wait(signal: AbortSignal): Promise<Wake>
}
export const WakeSources = point<WakeSource>('wake_sources', {
  key: source => source.name,
  has: { name: 'text', wait: 'function' },
})

/** What a goal strategy knows of the idle agent. Modules add their part by merging into this interface. */
export interface GoalContext {
  agent_id: string
  cycle_num: number
  signal: AbortSignal
}

export interface GeneratedGoal {
  /** null: no goal this time. */
  objective: string | null
  reasoning?: string
  cost_usd: number
  tokens: number
  /** Found by a strategy that has no duplicates. */
  no_duplicates?: boolean
}

export interface GoalStrategy {
  name?: string
  /** Strategies of a lower stage are asked first; the built-in existence loop is last. */
  stage?: number
  /** Each of its goals is a new one, also when it reads like an earlier one, such as an entry of a queue: none is refused as a repetition. */
  no_duplicates?: boolean
  /** undefined leaves the decision to the next strategy. */
  generateGoal(context: GoalContext): GeneratedGoal | undefined | Promise<GeneratedGoal | undefined>
}
export const GoalStrategies = point<GoalStrategy & { name: string }>('goal_strategies', {
  key: strategy => strategy.name,
  has: { generateGoal: 'function' },
  asked: 'generateGoal',
  stage: strategy => strategy.stage,
  async ask(strategy, context: GoalContext) {
    const goal = await strategy.generateGoal(context)
    return goal && strategy.no_duplicates ? { ...goal, no_duplicates: true } : goal
  },
})

/** For whom, and under which limits, a tool runs. */
export interface ToolCall {
  readonly call_id: string
  readonly agent_id: string
  readonly goal_id: string | null
  readonly cycle_num: number
  /** Aborted at the tool's time limit, or when the cycle ends. */
  readonly signal: AbortSignal
  /** The agent's own folder, absolute. */
  readonly workspace: string
  /** `agent:epoch:step`, for services that take an idempotency key. */
  readonly idempotency_key: string
  /** Adds a write that is committed together with the outcome of this call: exactly once. */
  effect(effect: Effect): void
}

export interface Tool<P extends z.ZodType = z.ZodType> {
  name: string
  /** What it does and when to use it, in words that a small model understands. */
  description: string
  parameters: P
  /** May be run again when it is unknown whether it ran. */
  idempotent?: boolean
  /** What it can do harm to, in a word: shown to the operator. */
  danger?: string
  /** Whether a person is to agree to each call first; in a project they are asked where `approval.enabled` is on. */
  requires_approval?: boolean
  /** The result for the model: text, or something that becomes JSON. A throw becomes an error that the model reads. */
  execute(args: z.output<P>, call: ToolCall): unknown
}

/** Keeps the types of one tool together. */
export function tool<P extends z.ZodType>(definition: Tool<P>): Tool {
  return definition as unknown as Tool
}

export interface Toolkit {
  name: string
  /** A name by which several are meant at once: `plugins` for those of plugin files. */
  group?: string
  /** One line for the system prompt of agents that have it. */
  instructions?: string
  /** Whether these tools are offered first where a prompt cannot hold all; true for plugin files by default. */
  everyday?: boolean
  tools: readonly Tool[]
}
export const Toolkits = point<Toolkit>('toolkits', {
  key: toolkit => toolkit.name,
  has: { name: 'text', tools: 'list' },
  check(toolkit, others) {
    for (const { name, description, parameters, execute } of toolkit.tools) {
      if (typeof description !== 'string' || !(parameters instanceof z.ZodType) || typeof execute !== 'function') {
        throw new TypeError(
          `the tool "${name}" of toolkit "${toolkit.name}" needs description: '…', parameters: z.object({ … }) with the z of 'svc', and execute()`,
        )
      }
      if (!isOfObjects(parameters)) {
        throw new TypeError(
          `the tool "${name}" of toolkit "${toolkit.name}" takes no object, and models give nothing else: write parameters: z.object({ … })`,
        )
      }
      if (toolkit.tools.filter(tool => tool.name === name).length > 1) {
        throw new ConflictError({
          sentence: `The toolkit "${toolkit.name}" has two tools "${name}"; give one of them another name.`,
        })
      }
      const taken = others.find(
        other => other.key !== toolkit.name && other.value.tools.some(tool => tool.name === name),
      )
      if (taken) {
        throw new ConflictError({
          sentence: `The toolkit "${toolkit.name}" has a tool "${name}", but "${taken.key}" of "${taken.owner}" already does; give one of them another name.`,
        })
      }
      if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name)) {
        throw new TypeError(
          `A tool's name is 1 to 64 letters, digits, "_" or "-"; "${name}" of toolkit "${toolkit.name}" is not.`,
        )
      }
    }
  },
})

function isOfObjects(schema: z.ZodType): boolean {
  if (schema instanceof z.ZodObject) return true
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }).type === 'object'
}
