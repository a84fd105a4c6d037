import type { Deltas } from './citizens.ts'
import type { EconomyConfig } from './config.ts'
import { centsOf } from './contract.ts'
import { accountOf, type Move } from './market/ledger.ts'
import type { CitizenRow } from './repository.ts'

/** Change of stats per heartbeat, in thousandths. */
const RESTED = 50
const HEALED = 5
const WORN = -10
/** Maximum step by which happiness returns to the middle. */
const DRIFT = 5
const MIDDLE = 500
/** The level up to which health recovers by itself, and the energy needed; with less energy, health declines. */
const HEALTHY = 800
const FIT = 300
const TIRED = 100
const IN_SHELTER = -10
const INSOLVENCY = -200

/** A stay in the clinic: price in credits, resulting health, and change of happiness. */
const CLINIC = { credits: 300, health: 300, happiness: -100 }

export interface Day {
  moves: Move[]
  deltas: Deltas
  sheltered: boolean
  insolvent: boolean
  /** Whether health reached 0. */
  collapsed: boolean
}

/** Returns the changes of one heartbeat to a citizen: rest, payday, rent, debt and illness. @param salary credits; 0 without a job */
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
