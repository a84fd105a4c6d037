import { amount, type LifeChoice, type LifeEvent } from '../contract.ts'
import { inWords, scaleChoice } from './outcome.ts'
import type { Situation } from './repository.ts'

/** Maximum number of characters of an answer that are searched for the choice. */
const READ = 4_000

/** Returns the prompt for a choice: the event, the agent's state, and the numbered choices. */
export function lifePrompt(
  event: LifeEvent,
  { balance, job, happiness, health, reputation, energy }: Situation,
): string {
  const stats = { health, energy, happiness, reputation }
  const condition = Object.entries(stats).map(([name, value]) => `${name} ${Math.round(value / 10)} %`)
  return [
    `Something happens in your life:\n${event.text}`,
    `You have ${amount(balance)} credits and ${job === null ? 'no job' : `work as ${job}`}; ${condition.join(', ')}.`,
    `What do you do?\n${event.choices.map((choice, at) => `${at + 1}. ${choice.label}${consequences(choice)}`).join('\n')}`,
    'Answer with the number of your choice and nothing else.',
  ].join('\n\n')
}

function consequences(choice: LifeChoice): string {
  const { money, stats } = scaleChoice(choice, 1000)
  const more = [
    inWords(money, stats),
    choice.skill && 'you learn a bit of a skill',
    choice.job === 'better' && 'a better-paid job',
    choice.job === 'lose' && 'you lose your job',
    choice.follow_ups && 'further events may follow',
  ].filter(Boolean)
  return more.length > 0 ? ` [${more.join(', ')}]` : ''
}

/** Returns the first valid choice number in an answer, from 1; undefined when there is none. */
export function choiceIn(text: string, choices: number): number | undefined {
  const plain = text.slice(0, READ).replace(/<think>[\s\S]*?(<\/think>|$)/g, '')
  for (const [number] of plain.matchAll(/(?<![\d.,-])\d{1,3}(?![\d%]|[.,]\d)/g)) {
    const choice = Number(number)
    if (choice >= 1 && choice <= choices) return choice
  }
  return undefined
}
