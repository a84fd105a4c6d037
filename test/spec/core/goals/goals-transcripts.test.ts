import { describe, expect, it } from 'vitest'
import type { CheckpointSummary } from '#core/checkpoints/contract'
import checkpoints from '#core/checkpoints/index'
import { Transcript } from '#core/goals/pursuit/transcript'
import { TranscriptCache } from '#core/goals/pursuit/transcript-cache'
import {
  fault,
  HeldClock,
  type ModelServerRequest,
  type Reply,
  runHeartbeat,
  type TestHost,
  tempDir,
  toolCall,
  until,
} from '../../../support/index.ts'
import { goalAnswer } from '../../safety/approvals-host.ts'
import { asksForGoal, spawn, testHostWithModel } from '../models/model-host.ts'

/** One step for each cycle, so that each cycle begins with the transcript of those before it. */
const ONE_STEP = { 'profiles/worker.yaml': 'name: worker\nrole: takes notes\nmax_steps: 1\n' }

type RequestMessages = ModelServerRequest['body']['messages']

/** Returns a script that writes note after note, and the messages of its requests, across all processes. */
function noteTaker() {
  const asked: RequestMessages[] = []
  const replies: Reply[] = []
  const script = (request: ModelServerRequest): Reply => {
    if (asksForGoal(request)) return goalAnswer('Write down all notes')
    const reply = replies.shift()
    if (reply) return reply
    // The system prompt is rebuilt in each cycle.
    asked.push(request.body.messages.slice(1))
    return toolCall('write_notepad', { text: `note ${asked.length}` }, `call_${asked.length}`)
  }
  return { asked, replies, script }
}

/** Runs an agent in one process until it has taken at least one further step. */
async function step(home: TestHost, asked: readonly RequestMessages[]): Promise<void> {
  const before = asked.length
  home.kernel.heartbeat.start()
  for (let n = 0; n < 20 && asked.length === before; n++) await runHeartbeat(home)
  await home.kernel.heartbeat.stop()
}

/** Checks that each request holds all of the one before it, then the answer and its result. */
function expectGrowing(asked: readonly RequestMessages[]): void {
  for (const [n, said] of asked.entries()) {
    const before = asked[n - 1] ?? said.slice(0, 1)
    expect(said.slice(0, before.length), `request ${n + 1}`).toEqual(before)
    expect(said.map(({ tool_call_id }) => tool_call_id).filter(id => id !== undefined)).toEqual(
      Array.from({ length: n }, (_, step) => `call_${step + 1}`),
    )
  }
}

describe('the conversation of a goal', () => {
  it('continues from cycle to cycle', async () => {
    const { asked, script } = noteTaker()
    await using home = await testHostWithModel(script, { files: ONE_STEP })
    const id = await spawn(home)
    for (let n = 0; n < 4; n++) await step(home, asked)
    expectGrowing(asked)
    const [goal] = (await home.kernel.invoke('goals.list', { id })) as { goal_id: string }[]
    const calls = (await home.kernel.invoke('goals.calls', { goal_id: goal!.goal_id })) as { step: number }[]
    expect(calls.length).toBeGreaterThanOrEqual(4)
    expect(calls.map(call => call.step)).toEqual(calls.map((_, n) => calls.length - n))
  })

  it('is complete in each of two processes that pursue the goal in turn', async () => {
    const { asked, script } = noteTaker()
    await using dir = await tempDir()
    const shared = { root: dir.path, clock: new HeldClock(), files: ONE_STEP }
    await using here = await testHostWithModel(script, { ...shared, seed: 1 })
    await using there = await testHostWithModel(script, { ...shared, seed: 2 })
    await spawn(here)
    for (const home of [here, here, there, here, there, there, here, here]) await step(home, asked)
    expectGrowing(asked)
    for (const { server } of [here, there]) expect(server.requests.length).toBeGreaterThan(2)
  })

  it('is that of the checkpoint after a restore', async () => {
    const { asked, script } = noteTaker()
    await using home = await testHostWithModel(script, { files: ONE_STEP, builtins: [checkpoints] })
    const id = await spawn(home)
    for (let n = 0; n < 2; n++) await step(home, asked)
    const { checkpoint_id } = (await home.kernel.invoke('checkpoints.take', { id })) as CheckpointSummary
    const taken = asked.length
    for (let n = 0; n < 2; n++) await step(home, asked)
    await home.kernel.invoke('checkpoints.restore', { id, checkpoint_id })
    const restored = asked.length
    await step(home, asked)
    expect(asked[restored]).toEqual(asked[taken])
  })

  it('is complete after a cycle whose model failed', async () => {
    const { asked, replies, script } = noteTaker()
    await using home = await testHostWithModel(script, { files: ONE_STEP, config: { daemon: { max_retries: 0 } } })
    await spawn(home)
    for (let n = 0; n < 2; n++) await step(home, asked)
    replies.push(fault('500'))
    for (let n = 0; n < 2; n++) await step(home, asked)
    await until(() => replies.length === 0)
    expectGrowing(asked)
  })
})

describe('the transcript cache', () => {
  const transcript = (chars: number) =>
    new Transcript([{ seq: 0, message: { role: 'user', content: 'x'.repeat(chars) } }])

  it('gives a kept transcript to the next cycle, once', () => {
    const cache = new TranscriptCache()
    const kept = transcript(10)
    cache.keep('goal-1', 3, kept)
    expect(cache.take('goal-1', 3)).toBe(kept)
    expect(cache.take('goal-1', 3)).toBeUndefined()
  })

  it.each([4, null])('drops a transcript when the goal is at another epoch: %s', epoch => {
    const cache = new TranscriptCache()
    cache.keep('goal-1', 3, transcript(10))
    expect(cache.take('goal-1', epoch)).toBeUndefined()
    expect(cache.take('goal-1', 3)).toBeUndefined()
  })

  it('takes a bounded amount of memory: the least recently used transcripts are dropped', () => {
    const cache = new TranscriptCache()
    for (const id of ['a', 'b', 'c', 'd', 'e']) cache.keep(id, 1, transcript(4_000_000))
    expect(cache.take('a', 1)).toBeUndefined()
    cache.keep('huge', 1, transcript(17_000_000))
    for (const id of ['b', 'c', 'd', 'e', 'huge']) expect(cache.take(id, 1)).toBeUndefined()
    cache.keep('small', 1, transcript(10))
    expect(cache.take('small', 1)).toBeDefined()
  })
})
