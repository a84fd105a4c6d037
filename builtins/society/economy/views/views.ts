import { z } from '#kernel'
import { ACCOUNTS, LedgerEntry } from '../contract.ts'

/** Current state of the economy. */
export const WorldView = z
  .object({
    enabled: z.boolean(),
    beat: z.int().describe('Last heartbeat that the economy processed'),
    jobs: z.array(
      z.object({
        job_id: z.string(),
        title: z.string(),
        salary: z.number(),
        skill: z.string().nullable(),
        agent_id: z.string().nullable().describe('Agent that has the job; null when the job is free'),
        holder: z.string().nullable(),
      }),
    ),
    courses: z.array(z.object({ skill: z.string(), cost: z.number() })),
    offers: z.array(
      z.object({
        offer_id: z.string(),
        agent_id: z.string(),
        seller: z.string(),
        title: z.string(),
        price: z.number(),
      }),
    ),
    rent: z.number().describe('Rent per heartbeat, in credits'),
    lottery: z.object({ cost: z.number(), win_chance: z.number(), payout: z.number() }),
    blackjack: z.object({ win_rate: z.number(), pays: z.number().describe('Payout, as a multiple of the wager') }),
  })
  .meta({ id: 'World' })
export type WorldView = z.infer<typeof WorldView>

/** All accounts, verified against their transfers, and the transfers. */
export const Ledger = z
  .object({
    balanced: z.boolean().describe('Whether all balances add up to 0, and each equals the sum of its entries'),
    total: z.number().describe('Sum of all balances, in credits'),
    accounts: z.array(
      z.object({
        account: z.string(),
        kind: z.enum(['agent', ...ACCOUNTS]),
        balance: z.number().describe('Balance, in credits'),
        moved: z.number().describe('Sum of the entries of this account, in credits'),
      }),
    ),
    entries: z.array(LedgerEntry).describe('Transfers, newest first'),
  })
  .meta({ id: 'Ledger' })
export type Ledger = z.infer<typeof Ledger>
