import { lineOf, type Scene } from './scene.ts'
import { act, callsOf, end, type Step } from './step.ts'

/** Probability of a goal that earns money instead of one from the agent's trade. */
const OFTEN = 0.45
/** The share of its money that it stakes on one bet. */
const STAKE = 0.1
/** Credits below which an agent is poor, and from which it can afford a course. */
const POOR = 60
const AT_EASE = 180
/** Minimum energy for extra work, in percent. */
const TIRED = 30
const MOST_BETS = 3

/** Returns a goal that earns money, if the prompt has an economy and the random draw allows it. */
export function incomeGoal(scene: Scene): { goal: string; reasoning: string } | undefined {
  const status = lineOf(scene.prompt, 'Economic status')
  if (!status || scene.draw('living') >= OFTEN) return undefined
  const money = Number(/You have (-?[\d,.]+\d) credits/.exec(status)?.[1]?.replaceAll(',', '') ?? 0)
  const energy = Number(/\benergy (\d+) %/i.exec(lineOf(scene.prompt, 'Condition') ?? '')?.[1] ?? 100)
  const stake = Math.floor(money * STAKE)
  const bold = /gambl|risk|\bbets?\b/i.test(scene.role)
  if (bold && stake >= 1 && scene.draw('bet') < 0.5)
    return {
      goal: `Play blackjack with gamble for ${stake} credits, and stop while it is fun`,
      reasoning: 'I can afford to lose that.',
    }
  if (/You have no job/.test(status))
    return {
      goal: 'Find work: see which jobs are free with query_world, and take the best with apply_job',
      reasoning: 'Rent does not pay itself.',
    }
  if (energy >= TIRED && (money < POOR || /hustl|business|trad/i.test(scene.role)))
    return {
      goal: `Earn something extra with work, on top of ${Math.floor(money)} credits`,
      reasoning: 'A little more would help.',
    }
  if (money >= AT_EASE && scene.draw('study') < 0.5)
    return {
      goal: `Learn ${skillOf(scene.role)} with learn, to be fit for better work`,
      reasoning: 'I can pay for it now.',
    }
  return undefined
}

/** Returns the next step of a goal that earns money; undefined for other goals. */
export function live(scene: Scene): Step | undefined {
  const { objective, acts, draw } = scene
  if (/\bapply_job\b/.test(objective)) {
    const seen = callsOf(acts, 'query_world').at(-1)
    if (!seen) return act('I look at which jobs are free.', 'query_world', { query_type: 'jobs' })
    const job = bestJob(seen.result)
    if (job && callsOf(acts, 'apply_job').length === 0) return act(`I apply as ${job}.`, 'apply_job', { job_id: job })
    return end(scene)
  }
  if (/\bwith gamble\b/.test(objective)) {
    const bets = callsOf(acts, 'gamble')
    const wager = Number(/for (\d+) credits/.exec(objective)?.[1] ?? 1)
    const goesOn = bets.length === 0 || (bets.length < MOST_BETS && !bets.at(-1)!.failed && draw('again') < 0.5)
    return goesOn ? act(`I bet ${wager}.`, 'gamble', { game: 'blackjack', wager }) : end(scene)
  }
  if (/\bwith work\b/.test(objective))
    return callsOf(acts, 'work').length === 0 ? act('I take a shift.', 'work', {}) : end(scene)
  const skill = /^Learn (\w+) with learn\b/.exec(objective)?.[1]
  if (!skill) return undefined
  const courses = callsOf(acts, 'learn')
  const [first] = courses
  if (!first) return act(`I take a course in ${skill}.`, 'learn', { skill_name: skill })
  if (courses.length > 1 || !first.failed || !/\bmastered\b/.test(first.result)) return end(scene)
  const seen = callsOf(acts, 'query_world').at(-1)
  if (!seen) return act('I look at what else there is to learn.', 'query_world', { query_type: 'skills' })
  const next = nextSkill(seen.result)
  return next ? act(`I take a course in ${next} instead.`, 'learn', { skill_name: next }) : end(scene)
}

/** Returns the best unmastered skill, because it becomes useful soonest. */
function nextSkill(listed: string): string | undefined {
  const skills = [...listed.matchAll(/^- ([\w-]+): you are at (\d+) %/gm)]
  const open = skills
    .map(([, name, level]) => ({ name: name!, level: Number(level) }))
    .filter(({ level }) => level < 100)
  return open.sort((a, b) => b.level - a.level)[0]?.name
}

/** Returns the best-paid free job that needs no skill. */
function bestJob(listed: string): string | undefined {
  const jobs = [...listed.matchAll(/^- ([\w-]+): [^,\n]+, ([\d,.]*\d) at each heartbeat, free$/gm)]
  const paid = jobs.map(([, id, salary]) => ({ id: id!, salary: Number(salary!.replaceAll(',', '')) }))
  return paid.sort((a, b) => b.salary - a.salary)[0]?.id
}

const SKILLS: readonly (readonly [RegExp, string])[] = [
  [/cod|engineer|software|test/i, 'debugging'],
  [/review|critic/i, 'code_review'],
  [/writ|poet|journal/i, 'writing'],
  [/philosoph|teach|think/i, 'teaching'],
]

function skillOf(role: string): string {
  return SKILLS.find(([words]) => words.test(role))?.[1] ?? 'analysis'
}
