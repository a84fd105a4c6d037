import { type PluginHandle, z } from '#kernel'
import { pluralize } from '#lib/pluralize'
import { amount, type CitizenAction, centsOf, World } from '#society/economy/contract'
import { type ToolCall, type Toolkit, tool } from '#tools/toolkits/contract'

const money = z.number().min(0.01).max(1_000_000)
const credits = (value: number) => amount(centsOf(value))
const percent = (part: number) => `${Math.round(part * 100)} %`
const actionOf = ({ agent_id, call_id }: ToolCall): CitizenAction => ({ agent_id, key: call_id })

/** Tools for acting in the economy. Each call counts once, because its id is the idempotency key. */
export function worldToolkit(svc: PluginHandle): Toolkit {
  return {
    name: 'world',
    everyday: true,
    tools: [
      tool({
        name: 'query_world',
        description:
          'Look at the world: status (how you stand), jobs (which are free), skills (courses), finances (what came in and went out) or market (services of others).',
        parameters: z.object({
          query_type: z.enum(['jobs', 'skills', 'finances', 'status', 'market']).default('status'),
        }),
        read_only: true,
        execute: ({ query_type }, { agent_id }) => svc.use(World).describe(agent_id, query_type),
      }),
      tool({
        name: 'work',
        description:
          'Work once for extra pay: half a salary with a job, a small wage without one. Costs energy, and the number of times per heartbeat is limited.',
        parameters: z.object({}),
        idempotent: true,
        async execute(_, call) {
          const { pay, balance, energy, left } = await svc.use(World).work(actionOf(call))
          return `You earned ${credits(pay)} and have ${credits(balance)}. Energy ${percent(energy)}; you can work ${pluralize(left, 'more time')} in this heartbeat.`
        },
      }),
      tool({
        name: 'apply_job',
        description:
          'Take a free job by its id, as query_world with query_type jobs shows it. You can have only one job.',
        parameters: z.object({ job_id: z.string().min(1).max(64) }),
        idempotent: true,
        async execute({ job_id }, call) {
          const { title, salary } = await svc.use(World).apply(actionOf(call), job_id)
          return `You are ${title} now and are paid ${credits(salary)} at each heartbeat.`
        },
      }),
      tool({
        name: 'quit_job',
        description: 'Give up your job, so that you can take another one.',
        parameters: z.object({}),
        idempotent: true,
        async execute(_, call) {
          return `You are no longer ${(await svc.use(World).quit(actionOf(call))).title}.`
        },
      }),
      tool({
        name: 'learn',
        description: 'Pay for a course in a skill. At 50 % a skill can be used for jobs that need it.',
        parameters: z.object({ skill_name: z.string().min(1).max(64) }),
        idempotent: true,
        async execute({ skill_name }, call) {
          const { level, cost, balance } = await svc.use(World).learn(actionOf(call), skill_name)
          return `You paid ${credits(cost)}. Your ${skill_name} is at ${percent(level)}, and you have ${credits(balance)}.`
        },
      }),
      tool({
        name: 'gamble',
        description:
          'Bet at blackjack (any wager) or buy a lottery ticket (fixed price). On average you lose at blackjack.',
        // With its defaults, a call without the wager that it misspells would still cost money.
        parameters: z.strictObject({
          game: z.enum(['blackjack', 'lottery']).default('blackjack'),
          wager: money.optional().describe('Wager for blackjack, in credits; at most your balance'),
        }),
        idempotent: true,
        async execute({ game, wager }, call) {
          const { won, stake, balance, odds } = await svc.use(World).gamble(actionOf(call), game, wager)
          const outcome = won > 0 ? `You won ${credits(won)}` : 'You lost'
          return `${outcome} with a stake of ${credits(stake)} and have ${credits(balance)}. The odds: ${odds}.`
        },
      }),
      tool({
        name: 'pay_agent',
        description: 'Give another agent some of your money, for work or as a gift.',
        parameters: z.object({
          to: z.string().min(1).max(128).describe("Agent's id or name"),
          amount: money.describe('Amount, in credits'),
          note: z.string().max(200).default(''),
        }),
        idempotent: true,
        async execute({ to, amount: value, note }, call) {
          const paid = await svc.use(World).transfer(actionOf(call), to, value, note)
          return `You paid ${credits(value)} to ${paid.to} and have ${credits(paid.balance)}.`
        },
      }),
      tool({
        name: 'offer_service',
        description: 'Offer to do something for other agents at a price, or withdraw an offer by its id.',
        parameters: z.object({
          title: z.string().trim().max(120).default('').describe('What the buyer gets'),
          price: money.default(10).describe('Price, in credits'),
          withdraw: z.string().max(64).optional().describe('Id of your offer to withdraw'),
        }),
        idempotent: true,
        async execute({ title, price, withdraw }, call) {
          if (withdraw) {
            await svc.use(World).withdraw(actionOf(call), withdraw)
            return `${withdraw} is withdrawn.`
          }
          if (title.length < 3) throw new Error('say in `title` what you offer, in a few words')
          const { offer_id } = await svc.use(World).offer(actionOf(call), title, price)
          return `On the market as ${offer_id} for ${credits(price)}. You will get a message when it is bought.`
        },
      }),
      tool({
        name: 'buy_service',
        description:
          'Buy a service of another agent. The price is held until the work is delivered, and returned if it is not.',
        parameters: z.object({
          offer_id: z.string().min(1).max(64),
          request: z.string().trim().min(3).max(1_000).describe('What exactly you want'),
        }),
        idempotent: true,
        async execute({ offer_id, request }, call) {
          const { order_id, seller, balance } = await svc.use(World).buy(actionOf(call), offer_id, request)
          return `Ordered as ${order_id} from ${seller}; you have ${credits(balance)}. You will get a message when it is delivered.`
        },
      }),
      tool({
        name: 'deliver_service',
        description: 'Deliver what was ordered from you, and be paid for it.',
        parameters: z.object({
          order_id: z.string().min(1).max(64),
          result: z.string().trim().min(3).max(4_000).describe('The work itself, or where it is'),
        }),
        idempotent: true,
        async execute({ order_id, result }, call) {
          const { price, balance } = await svc.use(World).deliver(actionOf(call), order_id, result)
          return `Delivered. You were paid ${credits(price)} and have ${credits(balance)}.`
        },
      }),
    ],
  }
}
