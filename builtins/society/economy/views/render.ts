import { amount, centsOf, type LifeMoment } from '../contract.ts'
import type { Ledger, WorldView } from './views.ts'

const credits = (value: number) => amount(centsOf(value))

/** Renders the economy for a terminal. */
export function renderWorld({ enabled, beat, jobs, courses, offers, rent, lottery, blackjack }: WorldView): string {
  const width = Math.max(...jobs.map(({ title }) => title.length))
  const jobLine = ({ title, salary, skill, holder }: WorldView['jobs'][number]) =>
    `  ${title.padEnd(width)}  ${credits(salary).padStart(8)}  ${holder ?? 'free'}${skill ? ` (needs ${skill})` : ''}`
  return [
    enabled ? `Beat ${beat}; rent is ${credits(rent)} a beat.` : 'Off: economy.enabled is false.',
    `Jobs, with the salary of each beat:\n${jobs.map(jobLine).join('\n')}`,
    `Courses: ${courses.map(({ skill, cost }) => `${skill} ${credits(cost)}`).join(', ') || 'none'}`,
    `Lottery: ${credits(lottery.cost)} a ticket, ${credits(lottery.payout)} with a chance of ${percent(lottery.win_chance)}. Blackjack: twice the wager with a chance of ${percent(blackjack.win_rate)}.`,
    offers.length === 0
      ? 'No one offers a service.'
      : `Services:\n${offers.map(each => `  ${each.offer_id}  ${credits(each.price)}  ${each.title} (${each.seller})`).join('\n')}`,
  ].join('\n\n')
}

export function renderLedger({ balanced, total, accounts, entries }: Ledger): string {
  const width = Math.max(8, ...accounts.map(({ account }) => account.length))
  const lines = accounts.map(({ account, balance }) => `  ${account.padEnd(width)}  ${credits(balance).padStart(14)}`)
  const moves = entries.map(each => {
    return `  beat ${String(each.beat).padStart(5)}  ${credits(each.amount).padStart(12)}  ${each.payer} > ${each.payee}  ${each.reason}`
  })
  const proof = balanced
    ? 'Balanced: all accounts together are 0, and each is what its movements come to.'
    : `NOT BALANCED: all accounts together are ${credits(total)}, or one is not what its movements come to.`
  return [proof, `Accounts:\n${lines.join('\n')}`, `Movements, newest first:\n${moves.join('\n') || '  (none)'}`].join(
    '\n\n',
  )
}

export function renderLife(moments: readonly LifeMoment[]): string {
  const lines = moments.map(({ beat, event, origin, status, summary, luck, chosen_by }) => {
    if (status === 'waiting') return `beat ${beat}  ${event}: waits for a choice`
    const how = [
      `luck ${luck?.toFixed(2)}`,
      ...(origin === 'follow_up' ? ['a consequence'] : []),
      ...(chosen_by === 'default' ? ['no choice was made, so the first was taken'] : []),
    ]
    return `beat ${beat}  ${summary} (${how.join('; ')})`
  })
  return lines.join('\n') || 'Nothing has happened to it yet.'
}

function percent(part: number): string {
  return `${Math.round(part * 1000) / 10} %`
}
