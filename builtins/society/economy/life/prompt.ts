import { amount, type LifeChoice, type LifeEvent } from '../contract.ts'
import { inWords, scaleChoice, statName } from './outcome.ts'
import type { Situation } from './repository.ts'

/** Maximum number of characters of an answer that are searched for the choice. */
const READ = 4_000

/** Returns the prompt for a choice: the event, the agent's state, and the numbered choices. */
export function lifePrompt(
  event: LifeEvent,
  { balance, job, happiness, health, reputation, energy }: Situation,
): string {
  const stats = { health, energy, happiness, reputation }
  const condition = Object.entries(stats).map(([name, value]) => `${statName(name)} ${Math.round(value / 10)} %`)
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

/**
 * Returns the number of the choice in an answer, from 1: the one that the answer begins with, or the only one in it.
 * undefined when there is none, or several.
 */
export function choiceIn(text: string, choices: number): number | undefined {
  const plain = text.slice(0, READ).replace(/<think>[\s\S]*?(<\/think>|$)/g, '')
  const numbers = [...plain.matchAll(/(?<![\d.,-])\d{1,3}(?![\d%]|[.,]\d)/g)]
    .map(([number], at, all) => ({
      choice: Number(number),
      first: /^[\s*_#"'(]*$/.test(plain.slice(0, all[at]!.index)),
    }))
    .filter(({ choice }) => choice >= 1 && choice <= choices)
  const named = new Set(numbers.map(({ choice }) => choice))
  return numbers[0]?.first || named.size === 1 ? numbers[0]!.choice : undefined
}
