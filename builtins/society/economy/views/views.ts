import { z } from '#kernel'
import { ACCOUNTS, LedgerEntry } from '../contract.ts'

/** Current state of the economy. */
export const WorldView = z
  .object({
    enabled: z.boolean(),
    beat: z.number().int().describe('The last one that was processed'),
    jobs: z.array(
      z.object({
        job_id: z.string(),
        title: z.string(),
        salary: z.number(),
        skill: z.string().nullable(),
        agent_id: z.string().nullable().describe('Who has it'),
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
    rent: z.number().describe('Credits for each beat'),
    lottery: z.object({ cost: z.number(), win_chance: z.number(), payout: z.number() }),
    blackjack: z.object({ win_rate: z.number(), pays: z.number().describe('Times the wager') }),
  })
  .meta({ id: 'World' })
export type WorldView = z.infer<typeof WorldView>

/** All accounts, verified against their transfers, and the transfers. */
export const Ledger = z
  .object({
    balanced: z.boolean().describe('All balances together are 0, and each is what its movements come to'),
    total: z.number().describe('All balances together'),
    accounts: z.array(
      z.object({
        account: z.string(),
        kind: z.enum(['agent', ...ACCOUNTS]),
        balance: z.number().describe('Credits'),
        moved: z.number().describe('What its movements come to'),
      }),
    ),
    entries: z.array(LedgerEntry).describe('Newest first'),
  })
  .meta({ id: 'Ledger' })
export type Ledger = z.infer<typeof Ledger>
