import type { Message } from '#core/models/contract'
import { isEmptyAnswer } from '#core/runtime/contract'
import { keyedRandom } from '#lib/keyed-random'
import { Store } from '#platform/store/contract'
import type { Approval } from '#safety/approvals/contract'
import approvals from '#safety/approvals/index'
import { AGENT_MODULES, asksForGoal, spawn } from '../../spec/core/models/model-host.ts'
import { recordingTools } from '../../spec/safety/approvals-host.ts'
import {
  type Answer,
  fault,
  type ModelServer,
  modelServer,
  type Reply,
  refuse,
  type TestHost,
  tempDir,
  testHost,
  text,
  together,
  toolCall,
} from '../../support/index.ts'
import type { Dialect } from '../../support/model/wire-rules.ts'

/** Providers, their models, the rules that their servers follow, and whether they return reasoning. */
const PROVIDERS: readonly [name: string, model: string, dialect: Dialect, thinks: boolean][] = [
  ['openai', 'scripted-1', 'openai', false],
  ['openrouter', 'maker/model', 'openai', false],
  ['mistral', 'mistral-large', 'mistral', false],
  ['gemini', 'gemini-3-pro', 'gemini', true],
  ['deepseek', 'deepseek-v4', 'deepseek', true],
  ['vllm', 'gemma-3', 'vllm', false],
  ['llamacpp', 'mistral-nemo', 'llamacpp', false],
  ['ollama', 'llama3.1', 'ollama', false],
  ['anthropic', 'claude-sonnet-4-6', 'common', false],
]
/** Context window, in tokens: so small that conversations are shortened all the time. */
const WINDOW = 9_000
/** Number of agents that work at once. */
const AGENTS = 8
/** Longest time between two disturbances, and between two checks of the number of requests, in milliseconds. */
const [PAUSE_MS, STEP_MS] = [120, 5]
const WORKER = 'name: worker\nrole: does what the script says\nmax_steps: 12\nparameters: { thinking_tokens: 1500 }\n'

export interface ConversationReport {
  seed: number
  requests: number
  /** Requests that servers refused, as the real ones would. */
  refused: string[]
  /** Number of occurrences of each event, by name. */
  counts: Record<string, number>
  /** Number of empty answers that were stored. */
  empty: number
}

/**
 * Drives pursuits with random answers, nudges, restarts, approvals and changes of the model, until this number of
 * requests and at least one restart. Each server refuses what the real one of its provider would.
 */
export async function conversationSoak({
  requests,
  seed,
}: {
  requests: number
  seed: number
}): Promise<ConversationReport> {
  await using dir = await tempDir()
  const dice = new Dice(seed)
  const servers = new Map<string, ModelServer>()
  for (const [name, , dialect, thinks] of PROVIDERS) {
    servers.set(
      name,
      await modelServer({ dialect, thinks, keeps: false, script: request => replyTo(request, name, dice) }),
    )
  }
  const counts: Record<string, number> = {}
  const count = (what: string) => {
    counts[what] = (counts[what] ?? 0) + 1
  }
  let opened = 0
  const open = () => openTestHost({ root: dir.path, servers, seed: seed + opened++ })
  const requestCount = () => [...servers.values()].reduce((sum, server) => sum + server.received, 0)
  let home = await open()
  const agents: string[] = []
  while (agents.length < AGENTS) agents.push(await spawn(home))
  home.kernel.heartbeat.start()
  try {
    while (requestCount() < requests || !counts.restart) {
      await beginAll(home, dice)
      await decideAll(home, dice)
      const id = dice.pick(agents)
      const what = dice.pick(['nudge', 'nudge', 'nudge', 'nudge', 'model', 'model', 'model', 'restart'] as const)
      count(what)
      if (what === 'nudge') await home.kernel.invoke('agents.nudge', { id, message: dice.words() })
      if (what === 'model') await home.kernel.invoke('agents.update', { id, model: nameOf(dice.pick(PROVIDERS)) })
      if (what === 'restart') {
        await home.close()
        home = await open()
        home.kernel.heartbeat.start()
      }
      const enough = requestCount() + dice.below(2 * AGENTS)
      for (let ms = 0; ms < PAUSE_MS && requestCount() < enough; ms += STEP_MS) {
        await new Promise(resolve => setTimeout(resolve, STEP_MS))
      }
    }
    const stored = await home.kernel
      .use(Store)
      .all<{ message: string }>('SELECT message FROM goal_transcripts UNION ALL SELECT message FROM ended_transcripts')
    return {
      seed,
      requests: requestCount(),
      counts: { ...counts, ...(await eventCounts(home)) },
      refused: [...servers].flatMap(([name, server]) => server.refusals.map(({ message }) => `${name}: ${message}`)),
      empty: stored.filter(({ message }) => isEmptyAnswer(JSON.parse(message) as Message)).length,
    }
  } finally {
    await home.close()
    for (const server of servers.values()) await server.close()
  }
}

const nameOf = ([name, model]: (typeof PROVIDERS)[number]) => `${name}:${model}`

function openTestHost(at: { root: string; servers: ReadonlyMap<string, ModelServer>; seed: number }) {
  const { servers, ...where } = at
  const url = (name: string) => servers.get(name)!.url
  const own = ['mistral', 'gemini', 'deepseek'].map(name => [name, { base_url: url(name) }])
  return testHost({
    ...where,
    clock: 'system',
    builtins: [...AGENT_MODULES, approvals, recordingTools().plugin],
    files: {
      'profiles/worker.yaml': WORKER,
      'models.yaml': JSON.stringify({
        models: Object.fromEntries(PROVIDERS.map(each => [nameOf(each), { context_window: WINDOW }])),
      }),
    },
    config: {
      approval: { enabled: true },
      daemon: {
        heartbeat: 0.1,
        min_rest: 0,
        max_concurrent_agents: AGENTS,
        max_retries: 1,
        pursuit_transcript_max_messages: 60,
      },
      model: {
        default_model: 'openai:scripted-1',
        providers: Object.fromEntries(own),
        retry_delay: 0,
        retry_cap: 0,
        breaker_failures: 0,
      },
    },
    env: {
      ...Object.fromEntries(
        ['openai', 'openrouter', 'vllm', 'llamacpp', 'ollama'].map(name => [
          `${name.toUpperCase()}_BASE_URL`,
          url(name),
        ]),
      ),
      ANTHROPIC_BASE_URL: servers.get('anthropic')!.origin,
      ANTHROPIC_API_KEY: 'test-key',
    },
  })
}

/** Gives a goal to agents that have none. */
async function beginAll({ kernel }: TestHost, dice: Dice): Promise<void> {
  const idle = await kernel
    .use(Store)
    .all<{ agent_id: string }>(
      "SELECT agent_id FROM agents a WHERE NOT EXISTS (SELECT 1 FROM goals g WHERE g.agent_id = a.agent_id AND status = 'active')",
    )
  for (const { agent_id } of idle) {
    await kernel.invoke('goals.add', { id: agent_id, objective: `Study ${dice.words()}` })
  }
}

async function decideAll({ kernel }: TestHost, dice: Dice): Promise<void> {
  for (const { approval_id } of (await kernel.invoke('approvals.queue')) as Approval[]) {
    const decision = dice.pick(['approve', 'deny'] as const)
    await kernel.invoke('approvals.decide', { approval_id, decision, reason: 'by dice' }, { via: 'cli' })
  }
}

async function eventCounts({ kernel }: TestHost): Promise<Record<string, number>> {
  const rows = await kernel
    .use(Store)
    .all<{ type: string; n: number }>('SELECT type, count(*) AS n FROM events GROUP BY type ORDER BY type')
  return Object.fromEntries(rows.map(({ type, n }) => [type, n]))
}

/** Returns a random reply: mostly tool calls, sometimes text, nothing, the end, or an error. */
function replyTo(request: { prompt: string }, provider: string, dice: Dice): Reply {
  if (asksForGoal(request)) return text(JSON.stringify({ goal: '' }))
  const what = dice.below(100)
  if (what < 3) return fault('500')
  if (what < 5) return fault('cleancut')
  if (what < 6) return refuse(400, 'Content Exists Risk')
  return thinking(answer(what, dice), provider, dice)
}

function answer(what: number, dice: Dice): Answer {
  if (what < 9) return text('')
  if (what < 12) return text(dice.words(), { finish_reason: 'length' })
  if (what < 14) return text('', { finish_reason: 'content_filter' })
  if (what < 17) return text("I'm sorry, I cannot do that.")
  if (what < 24) return text(dice.words())
  if (what < 28) return toolCall('finish_goal', { summary: dice.words() })
  const calls = Array.from({ length: 1 + dice.below(3) }, () =>
    toolCall(dice.pick(['look', 'look', 'look', 'look', 'look', 'again', 'send', 'nosuch']), {
      text: dice.words(),
      n: dice.below(1e9),
    }),
  )
  return dice.below(2) === 0 ? together(...calls) : together(text(dice.words()), ...calls)
}

/** Adds reasoning in the form that the provider expects back. */
function thinking(said: Answer, provider: string, dice: Dice): Answer {
  if (provider === 'deepseek' || (provider !== 'gemini' && dice.below(2) === 0)) said.reasoning = dice.words()
  if (provider === 'gemini' && said.tool_calls[0]) {
    said.tool_calls[0].extra_content = { google: { thought_signature: `signed-${dice.below(1e9)}` } }
  }
  return said
}

const WORDS = [
  'river',
  'stone',
  'lamp',
  'map',
  'winter',
  'copper',
  'bridge',
  'glass',
  'salt',
  'orchard',
  'letter',
  'harbour',
]

/** Random choices from a seed. */
class Dice {
  readonly #random: ReturnType<typeof keyedRandom>
  #drawn = 0

  constructor(seed: number) {
    this.#random = keyedRandom(seed)
  }

  below(n: number): number {
    return Math.floor(this.#random.number('conversation-soak', 'dice', this.#drawn++) * n)
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!
  }

  /** Returns a few words, and now and then so many that the conversation has to be shortened. */
  words(): string {
    const length = this.below(8) === 0 ? 600 : 1 + this.below(12)
    return Array.from({ length }, () => this.pick(WORDS)).join(' ')
  }
}
