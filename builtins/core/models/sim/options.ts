import { lineOf, type Scene } from './scene.ts'

/** Value of 10 percentage points of a stat, in hundreds of credits. */
const WORTH = { health: 0.6, contentment: 0.5, reputation: 0.4, energy: 0.25 }
/** Phrases in the text of a choice, with their value. */
const WORDS: readonly (readonly [RegExp, number])[] = [
  [/\bskill\b/, 0.8],
  [/better-paid job/, 2],
  [/lose your job/, -2],
]
const RISK = 0.4
/** Percentage below which a stat counts twice, and credits above which further money counts half. */
const LOW = 40
const ENOUGH = 300

/**
 * Chooses one of the numbered options at the end of a prompt: the one of the highest value, or a random one if none
 * states its effects.
 */
export function chooseOption(scene: Scene): string {
  const options = [...scene.prompt.matchAll(/^\s*(\d+)[.)]\s+(\S.*)$/gm)].map(([, number, text]) => ({
    number: number!,
    effects: /\[([^[\]]*)\]\s*$/.exec(text!)?.[1],
  }))
  if (options.length === 0) return 'I am simulated by rules, not an AI model, and have no rule for this question.'
  if (options.every(({ effects }) => effects === undefined))
    return options[Math.floor(scene.draw('option') * options.length)]!.number
  const worths = options.map(({ effects = '' }) => scoreChoice(effects, scene))
  return options[worths.indexOf(Math.max(...worths))]!.number
}

/** Returns the value of a choice by its written effects, such as `money -50.00, health +5 %`. */
function scoreChoice(effects: string, { prompt, role }: Scene): number {
  const money = Number(/\byou have (-?[\d,.]*\d) credits/i.exec(prompt)?.[1]?.replaceAll(',', '') ?? 0)
  let worth = 0
  for (const [, name, sign, figure] of effects.matchAll(/\b([a-z]+) ([+-])([\d,.]*\d)/g)) {
    const change = Number(`${sign}${figure!.replaceAll(',', '')}`)
    if (name === 'money') worth += (change / 100) * (ENOUGH / (ENOUGH + Math.max(0, money)))
    const tenth = WORTH[name as keyof typeof WORTH]
    if (tenth) worth += (change / 10) * tenth * (percentOf(prompt, name!) < LOW ? 2 : 1)
  }
  for (const [words, more] of WORDS) if (words.test(effects)) worth += more
  const bold = /gambl|risk|\bbets?\b/i.test(role) || /risk tolerance high/.test(lineOf(prompt, 'Just now') ?? '')
  return worth + (/may follow/.test(effects) ? (bold ? RISK : -RISK) : 0)
}

function percentOf(prompt: string, stat: string): number {
  return Number(new RegExp(`\\b${stat} (\\d+) %`).exec(prompt)?.[1] ?? 100)
}
