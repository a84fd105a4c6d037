import { defineError, point, token, z } from '#kernel'

/** Converts credits to integer cents. */
export function centsOf(credits: number): number {
  return Math.round(credits * 100)
}
/** Converts integer cents to credits. */
export function creditsOf(cents: number): number {
  return cents / 100
}
/** Formats integer cents for people: `1,234.50`. */
export function amount(cents: number): string {
  return creditsOf(cents).toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })
}

/** Accounts that are not an agent's; each agent has an account `agent:<id>`. */
export const ACCOUNTS = [
  'bank',
  'employers',
  'landlord',
  'school',
  'clinic',
  'house',
  'fortune',
  'escrow',
  'departed',
] as const
export const STATS = ['happiness', 'health', 'reputation', 'energy'] as const
export type Stat = (typeof STATS)[number]
/** Minimum level at which a skill can be used, in thousandths. */
export const USABLE = 500

const name = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,39}$/, 'must be lower-case letters, digits and "_", beginning with a letter')
const unit = z.number().min(0).max(1)

/** A job: one agent has it at a time. */
export const Job = z.strictObject({
  id: name,
  title: z.string().min(1).max(80),
  salary: z.number().min(0).max(100_000).describe('Salary in credits, paid at each heartbeat'),
  skill: name.optional().describe('Skill that the job requires'),
})
export type Job = z.infer<typeof Job>
export const Jobs = point<Job>('jobs', { key: ({ id }) => id, shape: Job })

/** A course that teaches a skill. */
export const Course = z.strictObject({
  skill: name,
  title: z.string().min(1).max(80).optional(),
  cost: z.number().min(0).max(1_000_000).optional().describe('Price in credits (default: economy.skill_course_cost)'),
})
export type Course = z.infer<typeof Course>
export const Courses = point<Course>('courses', {
  key: ({ skill }) => skill,
  shape: Course,
})

export const CATEGORIES = ['career', 'health', 'social', 'financial', 'random'] as const
const change = z.number().min(-1).max(1)
const range = z.strictObject({ min: z.number().optional(), max: z.number().optional() })

/** Consequences of one choice. Money is in credits, stats are fractions of 1; luck scales all of them. */
export const LifeChoice = z.strictObject({
  label: z.string().min(1).max(120),
  money: z.number().min(-100_000).max(100_000).optional(),
  with: z.enum(ACCOUNTS).optional().describe('Account that pays or is paid (default: `fortune`)'),
  happiness: change.optional(),
  health: change.optional(),
  reputation: change.optional(),
  energy: change.optional(),
  skill: name.optional().describe('Skill whose level rises; `any` selects one that is not mastered yet'),
  job: z
    .enum(['better', 'lose'])
    .optional()
    .describe(
      '`better`: takes the best-paid free job that pays more than the current one; `lose`: loses the current job',
    ),
  stressor: z.strictObject({ name: z.string().min(1).max(64), severity: unit }).optional(),
  resolves: z.string().min(1).max(64).optional().describe('Stressor that is resolved'),
  follow_ups: z
    .array(z.strictObject({ event: name, chance: unit, in: z.int().min(1).max(10_000) }))
    .max(5)
    .optional()
    .describe('Events that may follow after a number of heartbeats, each with its own chance'),
})
export type LifeChoice = z.infer<typeof LifeChoice>

/** A life event that may happen to an agent. */
export const LifeEvent = z.strictObject({
  id: name,
  category: z.enum(CATEGORIES),
  text: z.string().min(1).max(400).describe('Text of the event, as the agent reads it'),
  follow_up_only: z.boolean().default(false).describe('Whether the event happens only as a follow-up'),
  min_cycles: z.int().min(0).default(0).describe('Minimum number of heartbeats that the agent has been alive'),
  requires: z
    .strictObject({
      happiness: range.optional(),
      health: range.optional(),
      reputation: range.optional(),
      energy: range.optional(),
      balance: range.optional(),
      employed: z.boolean().optional(),
      better_job: z.boolean().optional().describe('Whether a better-paid job that the agent could do is free'),
    })
    .default({}),
  choices: z.array(LifeChoice).min(1).max(6),
})
export type LifeEvent = z.infer<typeof LifeEvent>
export const LifeEvents = point<z.input<typeof LifeEvent>>('life_events', {
  key: ({ id }) => id,
  shape: LifeEvent,
})

/** An agent's state in the economy. */
export const Citizen = z
  .object({
    agent_id: z.string().meta({ examples: ['coder-1a2b3c4d'] }),
    balance: z.number().describe('Balance in credits; below 0 is debt'),
    job: z
      .string()
      .nullable()
      .meta({ examples: ['Researcher'] }),
    salary: z.number().describe('Salary in credits, paid at each heartbeat'),
    skills: z.record(z.string(), unit).describe('Skill levels; a skill can be used at 0.5 or more'),
    happiness: unit,
    health: unit,
    reputation: unit,
    energy: unit,
    cycles_alive: z.int().describe('Number of heartbeats that the agent has been alive'),
    sheltered: z
      .boolean()
      .describe(
        'Whether the agent is in the shelter: it was insolvent and pays no rent until it has its starting balance again',
      ),
    insolvencies: z.int(),
    plays: z.int().describe('Number of bets'),
    wins: z.int(),
  })
  .meta({ id: 'Citizen' })
export type Citizen = z.infer<typeof Citizen>

/** A transfer between two accounts. */
export const LedgerEntry = z
  .object({
    entry_id: z.string(),
    beat: z.int(),
    payer: z.string().meta({ examples: ['employers'] }),
    payee: z.string().meta({ examples: ['agent:coder-1a2b3c4d'] }),
    amount: z.number().describe('Amount, in credits'),
    reason: z.string().meta({ examples: ['salary'] }),
    at: z.iso.datetime(),
  })
  .meta({ id: 'LedgerEntry' })
export type LedgerEntry = z.infer<typeof LedgerEntry>

/** An agent life event that was decided, or waits for the agent's choice. */
export const LifeMoment = z
  .object({
    life_event_id: z.string(),
    beat: z.int(),
    event: z.string().meta({ examples: ['rent_increase'] }),
    category: z.enum(CATEGORIES),
    origin: z.enum(['random', 'follow_up']),
    status: z.enum(['waiting', 'decided']),
    choice: z.int().nullable().describe('Number of the choice, from 1; null while the event waits'),
    chosen_by: z
      .enum(['model', 'default', 'only'])
      .nullable()
      .describe(
        '`default`: there was no valid answer, so the first choice was taken; `only`: there was only one choice',
      ),
    luck: z.number().nullable(),
    effects: z.record(z.string(), z.number()).nullable(),
    summary: z.string().nullable().describe('What happened and its effects; while the event waits, its text'),
    at: z.iso.datetime(),
  })
  .meta({ id: 'LifeMoment' })
export type LifeMoment = z.infer<typeof LifeMoment>

export const LifeEventHappened = z
  .object({
    agent_id: z.string(),
    life_event_id: z.string(),
    event: z.string(),
    category: z.enum(CATEGORIES),
    choice: z.int().describe('Number of the choice, from 1'),
    chosen_by: z.enum(['model', 'default', 'only']),
    luck: z.number(),
    effects: z.record(z.string(), z.number()).describe('Changes after luck: money in credits, stats in parts of 1'),
    summary: z.string().describe('Description of the event and its effects, in one line'),
  })
  .describe('A life event happened to an agent, and a choice was made')
export const WorldChanged = z
  .object({
    agent_id: z.string(),
    change: z.enum(['hired', 'quit', 'lost_job', 'learned', 'insolvent', 'collapsed', 'restored']),
    summary: z.string(),
  })
  .describe("An agent's economic state has changed")

declare module '#kernel' {
  interface Events {
    life_event: z.infer<typeof LifeEventHappened>
    world_changed: z.infer<typeof WorldChanged>
  }
}

declare module '#core/goals/contract' {
  interface GoalContext {
    economy_enabled?: boolean
    /** The agent's economic status, as its prompt shows it. */
    world_status?: string
    agent_stats?: Readonly<Record<Stat, number>> | null
  }
}

/** The acting agent, and the idempotency key of the action: the id of the tool call. */
export interface CitizenAction {
  agent_id: string
  key: string
}

/**
 * Actions of agents in the economy. Each is committed at once, and only once per key.
 * @throws WorldError when an action is not possible
 */
export interface World {
  citizen(agent_id: string): Promise<Citizen>
  work(action: CitizenAction): Promise<{ pay: number; balance: number; energy: number; left: number }>
  apply(action: CitizenAction, job_id: string): Promise<Job>
  quit(action: CitizenAction): Promise<Job>
  learn(action: CitizenAction, skill: string): Promise<{ level: number; cost: number; balance: number }>
  gamble(
    action: CitizenAction,
    game: 'blackjack' | 'lottery',
    wager?: number,
  ): Promise<{ won: number; stake: number; balance: number; odds: string }>
  transfer(action: CitizenAction, to: string, credits: number, note: string): Promise<{ to: string; balance: number }>
  offer(action: CitizenAction, title: string, price: number): Promise<{ offer_id: string }>
  withdraw(action: CitizenAction, offer_id: string): Promise<void>
  buy(
    action: CitizenAction,
    offer_id: string,
    request: string,
  ): Promise<{ order_id: string; seller: string; balance: number }>
  deliver(action: CitizenAction, order_id: string, result: string): Promise<{ price: number; balance: number }>
  /** Returns the lines that an agent may read about a part of the economy. */
  describe(agent_id: string, part: 'jobs' | 'skills' | 'finances' | 'status' | 'market'): Promise<string>
}
export const World = token<World>('world')

/** The rules of the economy do not allow the action now; the message suggests a remedy. */
export const WorldError = defineError({
  code: 'world_refused',
  name: 'WorldError',
  status: 409,
  title: 'Action not possible',
  message: (p: { problem: string }) => p.problem,
})
export const EconomyOffError = defineError({
  code: 'economy_off',
  status: 409,
  title: 'Economy disabled',
  message: () => 'The economy is off; turn it on with: svc config set economy.enabled true',
})
