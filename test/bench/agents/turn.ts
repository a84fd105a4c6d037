import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Sqlite from 'better-sqlite3'
import OpenAI from 'openai'
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions'
import agents from '#core/agents/index'
import goals from '#core/goals/index'
import { fitRequest } from '#core/models/context/fit'
import type { Message } from '#core/models/contract'
import models from '#core/models/index'
import { Profile, Profiles } from '#core/profiles/contract'
import { Runtime } from '#core/runtime/contract'
import runtime from '#core/runtime/index'
import { definePlugin, type Kernel, z } from '#kernel'
import type { Cycle } from '#platform/heartbeat/contract'
import { Store, wakeAgents } from '#platform/store/contract'
import store from '#platform/store/index'
import budget from '#safety/budget/index'
import { tool } from '#tools/toolkits/contract'
import { openKernel } from '../../../embed/compose.ts'
import { costOf, inTurn, median } from '../measures.ts'
import { type Row, row } from '../row.ts'

/** Numbers of messages in a conversation before it is measured. */
const LENGTHS = [5, 50, 500]
const CYCLES = 3
const STEPS = 5
const ROUNDS = 21
const WARM_UP = 6
const RESULT = 'What stands in the file is of no matter here; it is as long as such results often are. '.repeat(8)
const FAR = 8.64e15

const profile = Profile.parse({ name: 'worker', role: 'takes notes', model: 'openai:notes', max_steps: STEPS })

/** Returns a conversation of about `length` messages: the goal, then steps of a call and its result. */
function conversation(length: number): Message[] {
  const said: Message[] = [{ role: 'user', content: 'Goal: Take notes.' }]
  for (let n = 1; said.length < length; n++) {
    const call = { id: `seeded_${n}`, name: 'note', arguments: { n } }
    said.push({ role: 'assistant', content: `I take note ${n}.`, tool_calls: [call] })
    said.push({ role: 'tool', tool_call_id: call.id, name: call.name, content: `${n}: ${RESULT}` })
  }
  return said
}

/** Measures the cost of a turn as the conversation grows, and of making space in a long one. */
export async function turn(): Promise<Row[]> {
  return [...(await growth()), contextRow()]
}

async function growth(): Promise<Row[]> {
  const provider = fork(fileURLToPath(new URL('../models/note-provider.ts', import.meta.url)), ['endless'])
  const root = await mkdtemp(join(tmpdir(), 'svc-bench-'))
  const [url] = (await once(provider, 'message')) as [string]
  try {
    await using service = await serviceAt(root, url)
    const bare = bareLoop(url, service.kernel)
    const found = LENGTHS.map(length => ({ length, rounds: [] as { a: number; b: number; ratio: number }[] }))
    for (let round = 0; round < WARM_UP + ROUNDS; round++) {
      for (const { length, rounds } of found) {
        const measured = await inTurn(
          1,
          () => service.costOfTurn(length, round),
          () => bare(length),
        )
        if (round >= WARM_UP) rounds.push(measured)
      }
    }
    const [few] = found
    return found.map(({ length, rounds }) => {
      const [figure, baseline, ratio] = (['a', 'b', 'ratio'] as const).map(key => median(rounds.map(each => each[key])))
      const growth = median(rounds.map((each, n) => each.ratio / few!.rounds[n]!.ratio))
      return row({
        what: `processor time of a turn at ${length} messages, beside a bare loop of the openai SDK at the same length`,
        figure: figure!,
        unit: 'ms',
        baseline: baseline!,
        ratio: ratio!,
        ...(length > LENGTHS[0]! ? { aim: { of: 'ratio', atMost: Number((ratioOf(few!) * 1.2).toPrecision(3)) } } : {}),
        note: `${growth.toFixed(2)} times the ratio at ${LENGTHS[0]} messages`,
      })
    })
  } finally {
    provider.kill()
    await rm(root, { recursive: true, force: true })
  }
}

const ratioOf = ({ rounds }: { rounds: readonly { ratio: number }[] }) => median(rounds.map(({ ratio }) => ratio))

/**
 * Starts the daemon's part of the program, with an agent for each round and length, which is woken when it is measured.
 */
async function serviceAt(root: string, url: string) {
  const cycles = new Map<string, number>()
  let ended = () => {}
  const world = definePlugin({
    name: 'profiles',
    setup(svc) {
      svc.provide(Profiles, {
        read: async () => profile,
        get: async () => profile,
        skills: async () => '',
        names: async () => [],
        list: async () => [],
      })
      svc.toolkit({ name: 'notes', tools: [note] })
      svc.tap('cleanup', 'as-measured', (cycle: Cycle) => {
        const count = (cycles.get(cycle.agent_id) ?? 0) + 1
        cycles.set(cycle.agent_id, count)
        cycle.run_at = count < CYCLES ? svc.clock.ms() : FAR
      })
    },
  })
  let notes = 0
  const note = tool({
    name: 'note',
    description: 'Takes a note.',
    parameters: z.object({ n: z.number() }),
    execute: () => `${++notes}: ${RESULT}`,
  })
  await mkdir(join(root, '.svc'))
  const daemon = { min_rest: 0, heartbeat: 3600, pursuit_transcript_max_messages: 100_000 }
  await writeFile(join(root, '.svc', 'config.yaml'), JSON.stringify({ daemon }))
  const kernel = await openKernel({
    root,
    roles: ['daemon'],
    builtins: [store, models, budget, world, agents, runtime, goals],
    ports: { env: { OPENAI_BASE_URL: url, OPENAI_API_KEY: 'none' } },
    log: { level: 'error' },
  })
  kernel.hooks.on('cycle_end', ({ agent_id }) => {
    if (cycles.get(agent_id) === CYCLES) ended()
  })
  seed(join(root, '.svc', 'svc.db'))
  kernel.heartbeat.start()
  return {
    kernel,
    costOfTurn: async (length: number, round: number) => {
      const over = new Promise<void>(resolve => {
        ended = resolve
      })
      const cost = await costOf(async () => {
        await kernel.use(Store).apply([wakeAgents({ agents: [`worker-${length}-${round}`], reason: 'measured' })])
        await over
      })
      return cost / (CYCLES * STEPS)
    },
    async [Symbol.asyncDispose]() {
      await kernel.heartbeat.stop()
      await kernel.close()
    },
  }
}

function seed(file: string): void {
  const db = new Sqlite(file)
  const agent = db.prepare(
    "INSERT INTO agents (agent_id, name, role, preset, spawned_at) VALUES (?, 'worker', '', 'worker', 0)",
  )
  const lease = db.prepare('INSERT INTO leases (id, agent_id, run_at) VALUES (?, ?, ?)')
  const goal = db.prepare(
    "INSERT INTO goals (goal_id, agent_id, objective, steps_completed, created_at) VALUES (?, ?, 'Take notes.', ?, 0)",
  )
  const said = db.prepare(
    'INSERT INTO goal_transcripts (goal_id, seq, agent_id, message, created_at) VALUES (?, ?, ?, ?, 0)',
  )
  db.transaction(() => {
    for (const length of LENGTHS) {
      const messages = conversation(length).map(message => JSON.stringify(message))
      for (let round = 0; round < WARM_UP + ROUNDS; round++) {
        const [id, goal_id] = [`worker-${length}-${round}`, `goal-${length}-${round}`]
        agent.run(id)
        lease.run(id, id, FAR)
        goal.run(goal_id, id, length)
        for (const [seq, message] of messages.entries()) said.run(goal_id, seq, id, message)
      }
    }
  })()
  db.close()
}

/** Bare loop as many projects write it: the same calls of the same model, with the messages in memory only. */
function bareLoop(baseURL: string, kernel: Kernel) {
  const client = new OpenAI({ baseURL, apiKey: 'none', maxRetries: 0 })
  const tools = kernel
    .use(Runtime)
    .toolsFor(profile)
    .specs.map(spec => ({ type: 'function' as const, function: spec }))
  const system = 'You are worker. You take notes. '.repeat(40)
  return async (length: number): Promise<number> => {
    const messages: ChatCompletionMessageParam[] = [{ role: 'system', content: system }]
    for (const { role, content, tool_calls, tool_call_id = '' } of conversation(length)) {
      if (role === 'tool') messages.push({ role, content, tool_call_id })
      else if (role === 'assistant') messages.push({ role, content, tool_calls: tool_calls!.map(wireCall) })
      else messages.push({ role, content })
    }
    const cost = await costOf(async () => {
      for (let n = 0; n < CYCLES * STEPS; n++) await step(client, messages, tools)
    })
    return cost / (CYCLES * STEPS)
  }
}

const wireCall = ({ id, name, arguments: args }: { id: string; name: string; arguments?: unknown }) => ({
  id,
  type: 'function' as const,
  function: { name, arguments: JSON.stringify(args) },
})

async function step(
  client: OpenAI,
  messages: ChatCompletionMessageParam[],
  tools: OpenAI.Chat.ChatCompletionTool[],
): Promise<void> {
  const asked = { model: 'notes', messages, tools, temperature: 0, max_tokens: 4096 }
  const stream = await client.chat.completions.create({
    ...asked,
    stream: true,
    stream_options: { include_usage: true },
  })
  let content = ''
  const calls: { id: string; name: string; arguments: string }[] = []
  for await (const { choices } of stream) {
    const delta = choices[0]?.delta
    content += delta?.content ?? ''
    for (const { index, id, function: fn } of delta?.tool_calls ?? []) {
      calls[index] ??= { id: id ?? '', name: fn?.name ?? '', arguments: '' }
      calls[index].arguments += fn?.arguments ?? ''
    }
  }
  messages.push({ role: 'assistant', content, tool_calls: calls.map(call => wireCall(call)) })
  for (const { id } of calls)
    messages.push({ role: 'tool', tool_call_id: id, content: `${messages.length}: ${RESULT}` })
}

const MEGABYTE = 1_000_000
const WINDOW = 128_000

/**
 * Measures the cost of making space when the newest step no longer fits: the oldest results are reduced to a line each.
 */
function contextRow(): Row {
  const said: Message[] = [{ role: 'system', content: 'You are worker.' }, ...conversation(3)]
  const settings = { context_limit: 256_000, context_full: 0.75, context_target: 0.45 }
  const limits = { window: WINDOW, max_output_tokens: null, ratio: 1 }
  const fitNow = () => fitRequest({ messages: said, tools: [], max_tokens: 4096 }, limits, settings)
  let [chars, cleared] = [0, 0]
  const costs: number[] = []
  for (let n = 1; chars < MEGABYTE * 1.5; n++) {
    const call = { id: `call_${n}`, name: 'note', arguments: { n } }
    const content = `${n}: ${RESULT.repeat(4)}`
    said.push({ role: 'assistant', content: '', tool_calls: [call] }, { role: 'tool', tool_call_id: call.id, content })
    chars += content.length
    const began = process.hrtime.bigint()
    const fitted = fitNow()
    const cost = Number(process.hrtime.bigint() - began) / 1e6
    if (fitted.cleared !== cleared && chars > MEGABYTE) costs.push(cost)
    cleared = fitted.cleared
  }
  return row({
    what: 'making room in a conversation of 1 MB without a summary, on the wall, median',
    figure: median(costs),
    unit: 'ms',
    aim: { atMost: 2 },
    note: `${costs.length} times, the longest ${Math.max(...costs).toFixed(2)} ms`,
  })
}
