import type { BundlePart, CheckpointPart } from '#core/checkpoints/contract'
import { type Effect, type PluginHandle, z } from '#kernel'
import { Store } from '#platform/store/contract'
import { CitizenState, changeJob, enterStatements, leaveJob, restoreCitizen, worldChanged } from './citizens.ts'
import { jobOf } from './jobs.ts'
import { accountOf, moveMoney } from './market/ledger.ts'
import { beatOf, findCitizen, skillsOf } from './repository.ts'

const EconomyPart = z.object({
  balance: z.int().describe('Balance, in cents'),
  job: z.string().nullable(),
  ...CitizenState.shape,
})
type EconomyPart = z.infer<typeof EconomyPart>

/**
 * Captures an agent's balance, job, skills and stats. On restore the bank pays or receives the difference, and a job
 * that another agent holds by then is not taken away.
 */
export function worldCheckpoint(svc: PluginHandle): CheckpointPart<EconomyPart> {
  const store = () => svc.use(Store)
  const capture = async (agent_id: string): Promise<EconomyPart | undefined> => {
    const row = await findCitizen(store(), agent_id)
    if (!row) return undefined
    const { balance, job_id: job, happiness, health, reputation, energy, cycles_alive, insolvencies } = row
    const skills = Object.fromEntries(await skillsOf(store(), agent_id))
    const sheltered = row.sheltered === 1
    return { balance, job, skills, happiness, health, reputation, energy, cycles_alive, sheltered, insolvencies }
  }
  return {
    name: 'world',
    schema: EconomyPart,
    capture,
    async restore(agent_id, value) {
      const now = await capture(agent_id)
      // Restoring a checkpoint does not add an agent to the economy or remove it.
      if (!now || !value) return []
      const summary = 'Was restored from a checkpoint.'
      return [
        ...(await restoreEffects(svc, agent_id, now, value)),
        worldChanged({ agent_id, change: 'restored', summary }),
      ]
    },
  }
}

/** Exports and imports an agent's economic state. The bank pays the imported agent's balance. */
export function worldBundle(svc: PluginHandle): BundlePart<EconomyPart> {
  const { name, schema, capture } = worldCheckpoint(svc)
  return {
    name,
    schema,
    pack: capture,
    async unpack(agent_id, value) {
      const beat = await beatOf(svc.use(Store))
      const newcomer = { balance: 0, job: null }
      // A job that does not exist here is dropped.
      const known = { ...value, job: jobOf(svc, value.job)?.id ?? null }
      return {
        effects: [...enterStatements(agent_id, beat, 0), ...(await restoreEffects(svc, agent_id, newcomer, known))],
      }
    },
  }
}

async function restoreEffects(
  svc: PluginHandle,
  agent_id: string,
  now: Pick<EconomyPart, 'balance' | 'job'>,
  { balance, job, ...rest }: EconomyPart,
): Promise<Effect[]> {
  const beat = await beatOf(svc.use(Store))
  const owed = balance - now.balance
  const [payer, payee] = owed > 0 ? ['bank', accountOf(agent_id)] : [accountOf(agent_id), 'bank']
  const entry_id = svc.ports.ids.make('restored', 12)
  const effects: Effect[] = [restoreCitizen({ agent_id, ...rest })]
  if (owed !== 0) effects.push(moveMoney({ entry_id, beat, payer, payee, amount: Math.abs(owed), reason: 'restored' }))
  if (job !== now.job) effects.push(job === null ? leaveJob({ agent_id }) : changeJob({ agent_id, job_id: job, beat }))
  return effects
}
