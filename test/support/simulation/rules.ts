import type { SimulatedProject, SimulationOptions } from './contract.ts'
import type { Dice } from './dice.ts'

/** Modules that are left out: interfaces, modules that read the real machine, and those without a part in cycles. */
const OFF = [
  'rest',
  'dashboard',
  'docs',
  'mcp',
  'a2a-protocol',
  'cli',
  'watchdog',
  'telemetry',
  'benchmark',
  'demos',
  'doctor',
  'authoring',
  'recordings',
  'trials',
  'export',
  'plugins-admin',
  'cluster',
  'toolkit-shell',
  'toolkit-git',
  'toolkit-web',
  'net',
  'mcp-client',
]

/** Optional modules, each with those that need it, and the share of runs that have them. */
const PARTS: readonly (readonly [share: number, modules: readonly string[]])[] = [
  [0.5, ['checkpoints']],
  [0.5, ['tasks', 'sessions']],
  [0.5, ['runs']],
  [0.5, ['schedules', 'toolkit-schedule', 'toolkit-alarm']],
  [0.4, ['events']],
  [0.3, ['sub-agents', 'toolkit-orchestrator']],
  [0.3, ['memory', 'toolkit-memory', 'toolkit-knowledge', 'toolkit-links', 'toolkit-clipboard']],
  [0.3, ['a2a', 'toolkit-comms', 'toolkit-a2a', 'delegation', 'toolkit-delegation', 'patterns']],
  [0.3, ['suffering']],
  [0.3, ['identity']],
  [0.3, ['guardrails']],
  [0.3, ['retention', 'metrics']],
  [0.2, ['swarm']],
  [0.2, ['economy', 'toolkit-world']],
]
/** Share of runs that have all modules. */
const WHOLE = 0.1

/** Returns the modules that a run does without. */
function omittedParts(dice: Dice, needs: SimulatedProject['needs']): string[] {
  const isWhole = dice.chance(WHOLE) || needs === 'everything'
  return PARTS.flatMap(([share, modules]) => {
    const isThere = dice.chance(share) || isWhole || modules.some(module => needs.includes(module))
    return isThere ? [] : modules
  })
}

/** Toolkits that use neither the network nor programs. */
const TOOLKITS = [
  'notepad',
  'file',
  'memory',
  'knowledge',
  'clipboard',
  'schedule',
  'alarm',
  'task',
  'comms',
  'a2a',
  'delegation',
  'world',
  'goals',
]

/** Setup of a simulated run. */
export interface Rules {
  /** Files, by path below the project's folder. */
  files: Record<string, string>
  presets: readonly string[]
  agents: number
  daemons: number
  /** Longest time between two operator actions, in milliseconds. */
  pace: number
  resumes: boolean
  config: { daemon: { budget_mode: string } }
  /** This and the next two are in milliseconds. */
  heartbeat: number
  wakes_within: number
  longest_cycle: number
}

/**
 * Price of the scripted model, in USD per million tokens: without a price its calls would be refused under the dollar
 * limit.
 */
const PRICE = { input: 1, output: 5 }

export const NOTHING: SimulatedProject = { profiles: {}, pluginConfig: {}, toolkits: [], tools: [], needs: [] }

/** Draws the rules of a simulated run: its configuration, its agents, and its speed. */
export function rulesOf(dice: Dice, { faults, presets }: SimulationOptions, belongings: SimulatedProject): Rules {
  const { profiles, pluginConfig } = belongings
  const heartbeat = dice.pick([0.8, 1.2, 2])
  const min_rest = dice.pick([0.05, 0.1, 0.3])
  const tool_timeout = dice.int(2, 4)
  const approval = dice.chance(0.8)
  const resumes = dice.chance(0.85)
  const model = { default_model: 'scripted:dice', idle_timeout: 3, total_timeout: 12, retry_delay: 0.2, retry_cap: 3 }
  const daemon = {
    heartbeat,
    min_rest,
    tool_timeout,
    cycle_timeout: dice.int(12, 25),
    max_concurrent_agents: dice.int(2, 6),
    max_retries: dice.int(0, 2),
    max_failures: dice.int(2, 4),
    pursuit_transcript_max_messages: dice.int(6, 40),
    pursuit_resume: resumes,
    budget_usd: 1000,
    budget_tokens: dice.chance(0.1) ? dice.int(20_000, 90_000) : 1_000_000_000,
    budget_mode: dice.chance(0.9) ? 'reserve' : 'record_only',
    budget_persist: dice.chance(0.2),
  }
  const config = {
    daemon,
    model,
    approval: { enabled: approval, timeout_cycles: dice.pick([0, 0, 4, 8]) },
    plugins: { enabled: false, disabled: [...OFF, ...omittedParts(dice, belongings.needs)], config: pluginConfig },
  }
  const files: Record<string, string> = {
    '.svc/config.yaml': JSON.stringify(config),
    'models.yaml': JSON.stringify({ prices: { [model.default_model]: PRICE } }),
  }
  const names = presets ?? []
  for (const [name, text] of Object.entries(profiles)) files[`profiles/${name}.yaml`] = text
  if (names.length === 0) {
    const toolkits = ['simulated', ...belongings.toolkits, ...TOOLKITS.filter(() => dice.chance(0.2))]
    files['profiles/worker.yaml'] = JSON.stringify({
      name: 'worker',
      role: 'does what the dice say',
      max_steps: dice.int(2, 6),
      max_tokens: 400,
      toolkits,
    })
  }
  return {
    files,
    config,
    resumes,
    presets: names.length > 0 ? names : ['worker'],
    agents: dice.int(1, 4),
    pace: dice.pick([150, 400, 1_500]),
    daemons: faults !== 'none' && dice.chance(0.25) ? 2 : 1,
    heartbeat: heartbeat * 1000,
    wakes_within: min_rest * 1000 + 700,
    longest_cycle: (daemon.cycle_timeout + 5) * 1000,
  }
}
