import { type AgentDetail, Agents } from '#core/agents/contract'
import type { Goal } from '#core/goals/contract'
import { Profiles } from '#core/profiles/contract'
import type { PluginHandle } from '#kernel'
import { DaemonStarts } from '#platform/daemon/contract'
import { type LifeMoment, World } from '#society/economy/contract'
import type { Demo, DemoContext, DemoTrial } from './contract.ts'
import { sparkline } from './spark.ts'
import { type Life, survivalReport } from './survival-report.ts'

const DAYS = 30
/** Packaged presets with three different personalities. */
const PRESETS = ['coder', 'gambler', 'philosopher'] as const
/** Toolkits of the demo: the world, and something to write with. */
const TOOLKITS = ['world', 'file', 'notepad']
/** Hours of emotional time that one day of the demo represents. */
const HOURS_FELT = 6
const CONFIG = {
  daemon: { heartbeat: 86_400, min_rest: 0, max_concurrent_agents: 1 },
  model: { sim_delay: 0 },
  economy: { enabled: true },
  suffering: { time_scale: HOURS_FELT / 24 },
  plugins: { enabled: false },
}

/** Demo with three personalities and a small world with rent; each cycle is one day. */
export function survival(svc: PluginHandle): Demo {
  return {
    name: 'survival',
    summary: 'A coder, a gambler and a philosopher live thirty days in a world with rent, jobs and chance',
    async play(stage) {
      const days = stage.cycles ?? DAYS
      const trial = await stage.open({ config: CONFIG, files: await presets(svc, stage.model), roles: ['cli'] })
      // Runs what a daemon does at its start and end, so that the run is recorded and can be inspected afterwards.
      const ends = []
      for (const start of trial.kernel.list(DaemonStarts)) ends.push(await start.begin())
      try {
        return survivalReport(await live(trial, stage, days), stage, days)
      } finally {
        for (const end of ends.reverse()) await end?.()
      }
    },
  }
}

/** Returns the packaged presets, adapted to the demo, with the chosen model. */
async function presets(svc: PluginHandle, model: string): Promise<Record<string, string>> {
  const files: Record<string, string> = {}
  for (const preset of PRESETS) {
    const profile = await svc.use(Profiles).read(preset)
    files[`profiles/${preset}.yaml`] = JSON.stringify(
      { ...profile, model, toolkits: TOOLKITS, core: null, max_steps: 8 },
      null,
      2,
    )
  }
  return files
}

async function live(trial: DemoTrial, stage: DemoContext, days: number): Promise<Life[]> {
  const { kernel } = trial
  const lives: Life[] = []
  for (const name of PRESETS) {
    const detail = (await kernel.invoke('agents.spawn', { preset: name })) as AgentDetail
    const { agent_id } = detail
    lives.push({ name, agent_id, evenings: [], moments: [], detail, goals: [], journal: '', events: [] })
  }
  const events = (agent_id: string) => kernel.invoke('economy.life', { id: agent_id }) as Promise<LifeMoment[]>
  const calm = async () => {
    for (const { agent_id } of lives) {
      if ((await events(agent_id)).some(({ status }) => status === 'waiting')) return false
    }
    return true
  }
  let today = 0
  const happens = (agent_id: string, what: string, weight: number) => {
    const life = lives.find(each => each.agent_id === agent_id)
    if (!life) return
    life.moments.push({ day: today, what, weight })
    stage.say(`Day ${today}  ${life.name}: ${what}`)
  }
  const undo = [
    kernel.hooks.on('world_changed', ({ agent_id, change, summary }) => happens(agent_id, summary, WEIGHTS[change])),
    kernel.hooks.on('life_event', ({ agent_id, summary, effects }) => happens(agent_id, summary, weightOf(effects))),
  ]
  try {
    while (today < days) {
      today++
      await trial.day(calm)
      for (const life of lives) await evening(trial, life, today)
      stage.show(renderDay(lives, today, days))
    }
  } finally {
    for (const fn of undo) await fn()
  }
  for (const life of lives) {
    life.goals = (await kernel.invoke('goals.list', { id: life.agent_id })) as Goal[]
    life.journal = ((await kernel.invoke('identity.journal', { id: life.agent_id })) as { text: string }).text
    life.events = await events(life.agent_id)
  }
  return lives
}

async function evening({ kernel }: DemoTrial, life: Life, day: number): Promise<void> {
  life.detail = (await kernel.invoke('agents.get', { id: life.agent_id })) as AgentDetail
  const { died_at } = await kernel.use(Agents).find(life.agent_id)
  const { balance } = await kernel.use(World).citizen(life.agent_id)
  const { load = 0, crisis = false } = (life.detail.suffering ?? {}) as { load?: number; crisis?: boolean }
  const before = life.evenings.at(-1)
  const mood = died_at === null ? (life.detail.mood ?? '-') : 'dead'
  if (crisis && !before?.crisis) life.moments.push({ day, what: 'Fell into a crisis.', weight: 3 })
  if (before?.crisis && !crisis) life.moments.push({ day, what: 'Came out of the crisis.', weight: 2.5 })
  life.evenings.push({ day, balance, mood, load, crisis })
}

/** Weights of changes, for ranking turning points. */
const WEIGHTS = { hired: 2, quit: 1.5, lost_job: 2.5, learned: 1, insolvent: 4, collapsed: 4, restored: 2 } as const

/** Returns the weight of effects: 50 credits or 0.1 of a stat weigh 1. */
function weightOf(effects: Readonly<Record<string, number>>): number {
  return Object.entries(effects).reduce(
    (sum, [name, value]) => sum + Math.abs(value) / (name === 'money' ? 50 : 0.1),
    0,
  )
}

function renderDay(lives: readonly Life[], day: number, days: number): string[] {
  const lines = lives.map(({ name, evenings, detail }) => {
    const { balance, mood } = evenings.at(-1)!
    const money = sparkline(evenings.map(each => each.balance))
    const job = String((detail.world as { job?: string | null } | null)?.job ?? 'no job')
    return `${name.padEnd(12)} ${balance.toFixed(2).padStart(9)}  ${money.padEnd(days)}  ${mood.padEnd(12)} ${job}`
  })
  return [`Day ${day} of ${days}`, ...lines]
}
