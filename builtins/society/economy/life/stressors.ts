import type { PluginHandle } from '#kernel'
import { Store } from '#platform/store/contract'
import type { Stressor, StressorVerdict } from '#society/suffering/contract'
import type { EconomyConfig } from '../config.ts'
import { type CitizenRow, findCitizen } from '../repository.ts'

/** Energy below which an agent burns out, and from which it has rested, in thousandths. */
const EXHAUSTED = 100
const RESTED = 500

/** Returns the stressors of money and strength. With the economy off, only other modules set them. */
export function worldStressors(svc: PluginHandle, { enabled }: EconomyConfig): Stressor[] {
  const senseOf = (verdict: (citizen: CitizenRow) => StressorVerdict): Pick<Stressor, 'sense'> =>
    enabled
      ? {
          async sense({ agent_id }) {
            const citizen = await findCitizen(svc.use(Store), agent_id)
            return citizen && verdict(citizen)
          },
        }
      : {}
  return [
    {
      name: 'financial_strain',
      description: 'You have less money than you need to live.',
      condition: 'you have money to live on again',
      effects: { risk_tolerance: 0.1, happiness: -0.1 },
      ...senseOf(({ balance, sheltered }) => (balance < 0 || sheltered ? 'raise' : 'resolve')),
    },
    {
      name: 'burnout',
      description: 'You have been working beyond your strength.',
      condition: 'you rest',
      effects: { autonomy_level: -0.15, happiness: -0.1 },
      ...senseOf(({ energy }) => (energy < EXHAUSTED ? 'raise' : energy >= RESTED ? 'resolve' : undefined)),
    },
  ]
}
