import { token, z } from '#kernel'

const credits = (initial: number) => z.number().min(0).max(1_000_000).default(initial)
const share = (initial: number) => z.number().min(0).max(1).default(initial)

/** Settings of the economy. Amounts are credits, which are unrelated to dollars. */
export const EconomyConfig = z.object({
  enabled: z.boolean().default(false).describe('Whether agents live in a world with money, jobs and life events'),
  starting_balance: credits(100)
    .meta({ env: 'SVC_STARTING_BALANCE' })
    .describe('Credits with which an agent enters the world'),
  skill_course_cost: credits(80).describe('Credits that a course costs, where the course names no price'),
  skill_increment: z
    .number()
    .min(0.01)
    .max(1)
    .default(0.25)
    .describe('By how much a course raises the level of a skill'),
  lottery_cost: credits(10).describe('Credits that a lottery ticket costs'),
  lottery_win_chance: share(0.05).describe('The chance that a ticket wins'),
  lottery_payout: credits(200).describe('Credits that a winning ticket pays'),
  blackjack_win_rate: share(0.48).describe('The chance to win at blackjack, which pays twice the wager'),
  default_gamble_wager: z.number().min(0.01).max(1_000_000).default(10).describe('Credits of a wager, by default'),
  learnable_skills: z
    .array(z.string().regex(/^[a-z][a-z0-9_]{0,39}$/))
    .max(100)
    .default(['code_review', 'teaching', 'architecture', 'analysis', 'writing', 'debugging'])
    .describe('Skills that the school teaches'),
  rent: credits(20).describe('Credits of rent for each beat'),
  rent_every: z.number().int().min(1).max(10_000).default(10).describe('Beats after which the rent is due'),
  credit_limit: credits(500).describe('Credits of debt beyond which an agent is insolvent'),
  casual_wage: credits(10).describe('Credits that an agent without a job earns with one call of work'),
  overtime: share(0.5).describe('The part of the salary that one call of work pays besides payday'),
  work_per_beat: z.number().int().min(0).max(100).default(2).describe('Calls of work in one beat'),
  life_events: z.boolean().default(true).describe('Whether things happen to agents'),
  life_event_chance: share(0.3).describe('The chance of a random event in one beat'),
  mortal: z
    .boolean()
    .default(false)
    .describe('Whether an agent whose health is 0 dies; otherwise it is taken to the clinic'),
  history_beats: z
    .number()
    .int()
    .min(10)
    .max(1_000_000)
    .default(1_000)
    .describe('Beats after which entries of the ledger are added up, and life events forgotten'),
})
export type EconomyConfig = z.infer<typeof EconomyConfig>

export const EconomySettings = token<EconomyConfig>('economy/config')
