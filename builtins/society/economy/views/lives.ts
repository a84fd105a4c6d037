import { join } from 'node:path'
import { type AgentRow, Agents } from '#core/agents/contract'
import { countEndedGoals } from '#core/goals/statements'
import { errorMessage, type PluginHandle, z } from '#kernel'
import { replaceFile } from '#lib/yaml'
import { defineEffect, isoTime, Store } from '#platform/store/contract'
import { Identity, type LifeSummary } from '#society/identity/contract'
import { amount, creditsOf, STATS } from '../contract.ts'
import { findCitizen, milestonesOf, totalsOf } from '../repository.ts'
import { shownCitizen } from './describe.ts'

/** Marks that a dead agent's life was written to its files. */
const recordFarewell = defineEffect({
  name: 'world.farewell',
  schema: z.object({ agent_id: z.string() }),
  statements: ({ agent_id }) => ({
    sql: 'UPDATE world_citizens SET farewell = 1 WHERE agent_id = ?',
    params: [agent_id],
  }),
})
export const LIVES_EFFECTS = [recordFarewell]

/** Returns an agent's life in the economy; undefined when it was never a citizen. */
async function worldLife(svc: PluginHandle, { agent_id }: AgentRow) {
  const store = svc.use(Store)
  const row = await findCitizen(store, agent_id)
  if (!row) return undefined
  const citizen = await shownCitizen(svc, row)
  const milestones = await milestonesOf(store, agent_id)
  const totals = await totalsOf(store, agent_id)
  const sum = (column: 'income' | 'expense') => totals.reduce((all, total) => all + total[column], 0)
  return {
    cycles_lived: row.cycles_alive,
    final_stats: Object.fromEntries(STATS.map(stat => [stat, citizen[stat]])),
    happiest: row.happiest / 1000,
    saddest: row.saddest / 1000,
    final_money: citizen.balance,
    income: creditsOf(sum('income')),
    expense: creditsOf(sum('expense')),
    job: citizen.job,
    career_path: milestones.filter(({ milestone }) => milestone.startsWith('job:')).map(({ text }) => text),
    skills: citizen.skills,
    gambling: { bets: row.plays, wins: row.wins },
    insolvencies: row.insolvencies,
    milestones: milestones.map(({ beat, text }) => `Heartbeat ${beat}: ${text}`),
  }
}

/** Returns the same data for the summaries of the identity module: a few strings and numbers. */
export function lifeSummary(svc: PluginHandle): LifeSummary {
  return {
    name: 'world',
    title: 'Economy',
    async summarize(agent) {
      const life = await worldLife(svc, agent)
      if (!life) return undefined
      const { final_stats, skills, gambling, ...plain } = life
      const percents = (values: Record<string, number>) =>
        Object.entries(values).map(([name, value]) => `${name} ${Math.round(value * 100)} %`)
      const bets = `${gambling.bets} bets, ${gambling.wins} won`
      return {
        ...plain,
        job: plain.job ?? 'none',
        final_stats: percents(final_stats),
        skills: percents(skills),
        gambling: bets,
      }
    },
  }
}

/** Writes `.svc/lives/<agent_id>/summary.json` and `biography.md`, replacing existing files. */
export async function writeLife(svc: PluginHandle, agent: AgentRow): Promise<void> {
  const life = await worldLife(svc, agent)
  if (!life) return
  const { agent_id, name, role, created_at, died_at } = agent
  const until = died_at ?? svc.clock.ms()
  const known = svc.has(Identity) ? await svc.use(Identity).summary(agent) : {}
  const summary = {
    agent_id,
    name,
    role,
    ...known,
    ...life,
    ...(await countEndedGoals(svc.use(Store), agent_id)),
    born_at: isoTime(created_at),
    died_at: isoTime(died_at),
    lived_seconds: Math.round((until - created_at) / 1000),
  }
  const biography = svc.has(Identity) ? await svc.use(Identity).biography(agent) : page(agent, life)
  const folder = join(svc.project.svc, 'lives', agent_id)
  const { files } = svc.ports
  await files.mkdir(folder, { recursive: true, mode: 0o700 })
  await replaceFile(files, join(folder, 'summary.json'), `${JSON.stringify(summary, null, 2)}\n`)
  await replaceFile(files, join(folder, 'biography.md'), `${biography.trim()}\n`)
}

/** Writes the lives of agents that died since the last call, or of all agents. Errors are logged. */
export async function writeLives(svc: PluginHandle, whose: 'dead' | 'all'): Promise<void> {
  const store = svc.use(Store)
  const rows = await store.all<{ agent_id: string; died_at: number | null }>(
    `SELECT c.agent_id, a.died_at FROM world_citizens c JOIN agents_view a ON a.agent_id = c.agent_id
     WHERE c.farewell = 0 ${whose === 'dead' ? 'AND a.died_at IS NOT NULL' : ''} ORDER BY c.agent_id`,
  )
  for (const { agent_id, died_at } of rows) {
    try {
      await writeLife(svc, await svc.use(Agents).find(agent_id))
      if (died_at !== null) await store.apply([recordFarewell({ agent_id })])
    } catch (error) {
      svc.log.warn({ agent_id }, `cannot write the life files of ${agent_id}: ${errorMessage(error)}`)
    }
  }
}

/** Returns the biography page where no module keeps identities. */
function page({ name, role }: AgentRow, life: NonNullable<Awaited<ReturnType<typeof worldLife>>>): string {
  const skills = Object.entries(life.skills).map(([skill, level]) => `${skill} ${Math.round(level * 100)} %`)
  const section = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : [`## ${title}`, lines.map(line => `- ${line}`).join('\n')]
  return [
    `# ${name}`,
    role,
    `Alive for ${life.cycles_lived} heartbeats, earned ${amount(life.income * 100)} credits and spent ${amount(life.expense * 100)}; ${amount(life.final_money * 100)} are left. Happiness was between ${Math.round(life.saddest * 100)} % and ${Math.round(life.happiest * 100)} %.`,
    ...section('Career', life.career_path),
    ...section('Skills', skills),
    ...section('Milestones', life.milestones),
  ].join('\n\n')
}
