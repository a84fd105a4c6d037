import { token, z } from '#kernel'

const credits = (initial: number) => z.number().min(0).max(1_000_000).default(initial)
const share = (initial: number) => z.number().min(0).max(1).default(initial)

/** Settings of the economy. Amounts are credits, which are unrelated to dollars. */
export const EconomyConfig = z.object({
  enabled: z.boolean().default(false).describe('Whether agents live in a world with money, jobs and life events'),
  starting_balance: credits(100)
    .meta({ env: 'SVC_STARTING_BALANCE' })
    .describe('Initial balance of an agent, in credits'),
  skill_course_cost: credits(80).describe('Price of a course in credits, unless the course sets a price'),
  skill_increment: z.number().min(0.01).max(1).default(0.25).describe('Increase of a skill level by one course'),
  lottery_cost: credits(10).describe('Price of a lottery ticket, in credits'),
  lottery_win_chance: share(0.05).describe('Chance that a lottery ticket wins'),
  lottery_payout: credits(200).describe('Payout of a winning lottery ticket, in credits'),
  blackjack_win_rate: share(0.48).describe('Chance to win at blackjack, which pays twice the wager'),
  default_gamble_wager: z.number().min(0.01).max(1_000_000).default(10).describe('Default wager, in credits'),
  learnable_skills: z
    .array(z.string().regex(/^[a-z][a-z0-9_]{0,39}$/))
    .max(100)
    .default(['code_review', 'teaching', 'architecture', 'analysis', 'writing', 'debugging'])
    .describe('Skills that the school teaches'),
  rent: credits(20).describe('Rent per heartbeat, in credits'),
  rent_every: z.int().min(1).max(10_000).default(10).describe('Number of heartbeats between rent payments'),
  credit_limit: credits(500).describe('Maximum debt in credits; an agent with more debt becomes insolvent'),
  casual_wage: credits(10).describe('Pay for one work call of an agent without a job, in credits'),
  overtime: share(0.5).describe('Share of the salary paid for each work call, besides the salary of each heartbeat'),
  work_per_beat: z.int().min(0).max(100).default(2).describe('Maximum number of work calls of an agent per heartbeat'),
  life_events: z.boolean().default(true).describe('Whether life events happen to agents'),
  life_event_chance: share(0.3).describe('Chance of a random life event for an agent per heartbeat'),
  mortal: z
    .boolean()
    .default(false)
    .describe('Whether an agent dies when its health reaches 0; otherwise it is taken to the clinic'),
  history_beats: z
    .int()
    .min(10)
    .max(1_000_000)
    .default(1_000)
    .describe('Number of heartbeats after which ledger entries are merged and life events deleted'),
})
export type EconomyConfig = z.infer<typeof EconomyConfig>

export const EconomySettings = token<EconomyConfig>('economy/config')
