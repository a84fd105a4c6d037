import type { Deltas } from './citizens.ts'
import type { EconomyConfig } from './config.ts'
import { centsOf } from './contract.ts'
import { accountOf, type Move } from './market/ledger.ts'
import type { CitizenRow } from './repository.ts'

/** Thousandths by which stats change in a beat. */
const RESTED = 50
const HEALED = 5
const WORN = -10
/** Happiness goes back towards the middle by at most this much. */
const DRIFT = 5
const MIDDLE = 500
/** As far as health comes back by itself, and the energy that it takes; with less than the second it wears off. */
const HEALTHY = 800
const FIT = 300
const TIRED = 100
const IN_SHELTER = -10
const INSOLVENCY = -200

/** What a stay in the clinic costs in credits, to where it brings health, and what it does to happiness. */
const CLINIC = { credits: 300, health: 300, happiness: -100 }

export interface Day {
  moves: Move[]
  deltas: Deltas
  sheltered: boolean
  insolvent: boolean
  /** Its health was 0. */
  collapsed: boolean
}

/** What one beat does to a citizen: rest, payday, rent, and what follows from debt and illness. @param salary credits; 0 without a job */
export function dayOf(citizen: CitizenRow, salary: number, beat: number, rules: EconomyConfig): Day {
  const { agent_id, energy, health, happiness } = citizen
  const account = accountOf(agent_id)
  const moves: Move[] = []
  let balance = citizen.balance
  const move = (reason: string, other: string, cents: number) => {
    if (cents === 0) return
    const [payer, payee] = cents > 0 ? [other, account] : [account, other]
    moves.push({ entry_id: `${reason}:${beat}:${agent_id}`, beat, payer, payee, amount: Math.abs(cents), reason })
    balance += cents
  }
  move('salary', 'employers', centsOf(salary))
  const rentDue = citizen.sheltered === 0 && (citizen.cycles_alive + 1) % rules.rent_every === 0
  if (rentDue) move('rent', 'landlord', -centsOf(rules.rent) * rules.rent_every)
  const collapsed = health === 0
  if (collapsed && !rules.mortal) move('clinic', 'clinic', -centsOf(CLINIC.credits))
  const insolvent = balance < -centsOf(rules.credit_limit)
  if (insolvent) move('insolvency', 'bank', -balance)
  const sheltered = insolvent || (citizen.sheltered === 1 && balance < centsOf(rules.starting_balance))
  const drift = Math.max(-DRIFT, Math.min(DRIFT, MIDDLE - happiness))
  const mending = energy >= FIT ? Math.max(0, Math.min(HEALED, HEALTHY - health)) : energy < TIRED ? WORN : 0
  return {
    moves,
    sheltered,
    insolvent,
    collapsed,
    deltas: {
      energy: RESTED,
      happiness:
        drift + (sheltered ? IN_SHELTER : 0) + (insolvent ? INSOLVENCY : 0) + (collapsed ? CLINIC.happiness : 0),
      health: collapsed ? CLINIC.health : mending,
      reputation: insolvent ? INSOLVENCY : 0,
    },
  }
}
