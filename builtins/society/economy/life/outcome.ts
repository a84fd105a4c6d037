import type { Effect, PluginHandle, Random } from '#kernel'
import { appendEvent, Store } from '#platform/store/contract'
import { Suffering } from '#society/suffering/contract'
import { changeJob, changeStats, learnSkill, leaveJob, reachMilestone, worldChanged, worldStruck } from '../citizens.ts'
import type { EconomyConfig } from '../config.ts'
import { amount, centsOf, creditsOf, type LifeChoice, type LifeEvent, STATS } from '../contract.ts'
import { allCourses, betterJob, jobOf } from '../jobs.ts'
import { accountOf, moveMoney } from '../market/ledger.ts'
import { findCitizen, skillsOf } from '../repository.ts'
import { decide, type LifeRow, queueFollowUp } from './repository.ts'

/** Parameters of the normal distribution of luck, and its bounds. */
export const LUCK = { mean: 1, deviation: 0.25, least: 0.3, most: 2 }
/** Minimum change of money that is mentioned in an agent's biography, in credits. */
const NOTABLE = 200

/** Returns an agent's luck in one event: normally distributed by the Box-Muller transform, clamped, in thousandths. */
export function luckOf(random: Random, agent_id: string, beat: number): number {
  const [u, v] = [1 - random.number('life.luck', agent_id, beat, 1), random.number('life.luck', agent_id, beat, 2)]
  const normal = Math.sqrt(-2 * Math.log(u)) * Math.cos(2 * Math.PI * v)
  const luck = LUCK.mean + LUCK.deviation * normal
  return Math.round(1000 * Math.min(LUCK.most, Math.max(LUCK.least, luck)))
}

/** Returns a choice's changes of money (cents) and stats (thousandths), scaled by luck. */
export function scaleChoice(choice: LifeChoice, luck: number) {
  const times = (value: number) => Math.round((value * luck) / 1000)
  const stats = Object.fromEntries(STATS.map(stat => [stat, times((choice[stat] ?? 0) * 1000)]))
  return { money: times(centsOf(choice.money ?? 0)), stats: stats as Record<(typeof STATS)[number], number> }
}

/** Returns the name of a stat in text. Happiness is named otherwise than that of the persona, which is another value. */
export function statName(stat: string): string {
  return stat === 'happiness' ? 'contentment' : stat
}

/**
 * Formats effects as `money -57.25, contentment +5 %`.
 * @param money cents
 * @param stats thousandths
 */
export function inWords(money: number, stats: Readonly<Record<string, number>>): string {
  const withSign = (value: number, text: string) => `${value > 0 ? '+' : '-'}${text}`
  return [
    ...(money === 0 ? [] : [`money ${withSign(money, amount(Math.abs(money)))}`]),
    ...Object.entries(stats).flatMap(([stat, value]) =>
      value === 0 ? [] : [`${statName(stat)} ${withSign(value, `${Math.abs(value) / 10} %`)}`],
    ),
  ].join(', ')
}

/**
 * Returns the writes of a choice, for one commit, so that it takes effect once.
 * @param choice number of the choice, from 1
 */
export async function outcome(
  svc: PluginHandle,
  config: EconomyConfig,
  row: LifeRow,
  event: LifeEvent,
  choice: number,
  chosen_by: 'model' | 'default' | 'only',
): Promise<Effect[]> {
  const { agent_id, beat, life_event_id } = row
  const chosen = event.choices[choice - 1] as LifeChoice
  const { random } = svc.ports
  const luck = luckOf(random, agent_id, beat)
  const { money, stats } = scaleChoice(chosen, luck)
  const more = await furtherEffects(svc, config, row, chosen)
  const words = [inWords(money, stats), ...more.words].filter(Boolean).join(', ')
  const summary = `${event.text} You chose: ${chosen.label}.${words ? ` (${words})` : ''}`
  const effects = {
    ...(money === 0 ? {} : { money: creditsOf(money) }),
    ...Object.fromEntries(
      Object.entries(stats).flatMap(([stat, value]) => (value === 0 ? [] : [[stat, value / 1000]])),
    ),
  }
  const purse = accountOf(agent_id)
  const other = chosen.with ?? 'fortune'
  const [payer, payee] = money > 0 ? [other, purse] : [purse, other]
  const data = {
    agent_id,
    life_event_id,
    event: event.id,
    category: event.category,
    choice,
    chosen_by,
    luck: luck / 1000,
    effects,
    summary,
  }
  const notable = Math.abs(money) >= centsOf(NOTABLE) || more.words.length > 0
  return [
    decide({ life_event_id, choice, chosen_by, luck, effects, summary }),
    ...(money === 0
      ? []
      : [moveMoney({ entry_id: life_event_id, beat, payer, payee, amount: Math.abs(money), reason: event.id })]),
    changeStats({ agent_id, ...stats }),
    ...more.effects,
    ...(chosen.follow_ups ?? []).flatMap((next, n) => {
      const follows = random.number('life.follow', agent_id, beat, choice, n) < next.chance
      const follow_up_id = `${life_event_id}:${n}`
      return follows ? [queueFollowUp({ follow_up_id, agent_id, event: next.event, due_beat: beat + next.in })] : []
    }),
    ...(notable ? [reachMilestone({ agent_id, milestone: `event:${event.id}`, beat, text: summary })] : []),
    appendEvent({ type: 'life_event', agent_id, data }),
  ]
}

/** Returns a choice's effects other than money and stats. */
async function furtherEffects(
  svc: PluginHandle,
  config: EconomyConfig,
  { agent_id, beat }: LifeRow,
  chosen: LifeChoice,
) {
  const store = svc.use(Store)
  const effects: Effect[] = []
  const words: string[] = []
  const job_id = (await findCitizen(store, agent_id))?.job_id ?? null
  const skills = await skillsOf(store, agent_id)
  if (chosen.job === 'better') {
    const job = await betterJob(svc, store, skills, jobOf(svc, job_id)?.salary ?? 0)
    if (job) {
      const text = `Became ${job.title}.`
      effects.push(changeJob({ agent_id, job_id: job.id, beat }))
      effects.push(reachMilestone({ agent_id, milestone: `job:${job.id}`, beat, text }))
      effects.push(worldChanged({ agent_id, change: 'hired', summary: text }))
      words.push(`now ${job.title}`)
    }
  }
  if (chosen.job === 'lose' && job_id !== null) {
    const summary = `Left the job as ${jobOf(svc, job_id)?.title ?? job_id}.`
    effects.push(leaveJob({ agent_id }), ...worldStruck({ agent_id, change: 'lost_job', summary }))
    words.push('without a job')
  }
  const skill = chosen.skill === 'any' ? missingSkill(svc, config, agent_id, beat, skills) : chosen.skill
  if (skill !== undefined) {
    effects.push(learnSkill({ agent_id, skill, by: Math.round(config.skill_increment * 1000) }))
    words.push(`learnt more of ${skill}`)
  }
  if (svc.has(Suffering)) {
    const suffering = svc.use(Suffering)
    const { stressor, resolves } = chosen
    if (stressor) effects.push(suffering.add(agent_id, stressor.name, { severity: stressor.severity }))
    if (resolves) effects.push(suffering.resolve(agent_id, resolves))
  }
  return { effects, words }
}

/** Returns a skill that the agent has not mastered. */
function missingSkill(
  svc: PluginHandle,
  config: EconomyConfig,
  agent_id: string,
  beat: number,
  skills: ReadonlyMap<string, number>,
): string | undefined {
  const open = allCourses(svc, config).filter(({ skill }) => (skills.get(skill) ?? 0) < 1000)
  return open[Math.floor(svc.ports.random.number('life.skill', agent_id, beat) * open.length)]?.skill
}
