import { amount, centsOf, type LifeMoment } from '../contract.ts'
import type { Ledger, WorldView } from './views.ts'

const credits = (value: number) => amount(centsOf(value))

/** Renders the economy for a terminal. */
export function renderWorld({ enabled, beat, jobs, courses, offers, rent, lottery, blackjack }: WorldView): string {
  const width = Math.max(...jobs.map(({ title }) => title.length))
  const jobLine = ({ title, salary, skill, holder }: WorldView['jobs'][number]) =>
    `  ${title.padEnd(width)}  ${credits(salary).padStart(8)}  ${holder ?? 'free'}${skill ? ` (needs ${skill})` : ''}`
  return [
    enabled ? `Heartbeat ${beat}; rent is ${credits(rent)} per heartbeat.` : 'Off: economy.enabled is false.',
    `Jobs, with the salary per heartbeat:\n${jobs.map(jobLine).join('\n')}`,
    `Courses: ${courses.map(({ skill, cost }) => `${skill} ${credits(cost)}`).join(', ') || 'none'}`,
    `Lottery: ${credits(lottery.cost)} a ticket, pays ${credits(lottery.payout)} with a chance of ${percent(lottery.win_chance)}. Blackjack: pays twice the wager with a chance of ${percent(blackjack.win_rate)}.`,
    offers.length === 0
      ? 'No one offers a service.'
      : `Services:\n${offers.map(each => `  ${each.offer_id}  ${credits(each.price)}  ${each.title} (${each.seller})`).join('\n')}`,
  ].join('\n\n')
}

export function renderLedger({ balanced, total, accounts, entries }: Ledger): string {
  const width = Math.max(8, ...accounts.map(({ account }) => account.length))
  const lines = accounts.map(({ account, balance }) => `  ${account.padEnd(width)}  ${credits(balance).padStart(14)}`)
  const moves = entries.map(each => {
    return `  heartbeat ${String(each.beat).padStart(5)}  ${credits(each.amount).padStart(12)}  ${each.payer} > ${each.payee}  ${each.reason}`
  })
  const proof = balanced
    ? 'Balanced: all balances add up to 0, and each equals the sum of its entries.'
    : `NOT BALANCED: all balances add up to ${credits(total)}, or one differs from the sum of its entries.`
  return [proof, `Accounts:\n${lines.join('\n')}`, `Entries, newest first:\n${moves.join('\n') || '  (none)'}`].join(
    '\n\n',
  )
}

export function renderLife(moments: readonly LifeMoment[]): string {
  const lines = moments.map(({ beat, event, origin, status, summary, luck, chosen_by }) => {
    if (status === 'waiting') return `heartbeat ${beat}  ${summary ?? event} (waits for a choice)`
    const how = [
      `luck ${luck?.toFixed(2)}`,
      ...(origin === 'follow_up' ? ['a consequence'] : []),
      ...(chosen_by === 'default' ? ['no valid choice was made, so the first was taken'] : []),
    ]
    return `heartbeat ${beat}  ${summary} (${how.join('; ')})`
  })
  return lines.join('\n') || 'No life events yet.'
}

function percent(part: number): string {
  return `${Math.round(part * 1000) / 10} %`
}
