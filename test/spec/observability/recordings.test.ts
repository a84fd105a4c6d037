import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { expect, test, vi } from 'vitest'
import { HostToken, Operations } from '#kernel'
import { CycleEnd } from '#lib/recording-context'
import { type Recording, Recordings } from '#observability/recordings/contract'
import { Digester } from '#observability/recordings/recording/digest'
import { CONTRIBUTED, type Entry, LOG_VERSION } from '#observability/recordings/recording/entries'
import { RecordedContext } from '#observability/recordings/recording/recorded-context'
import { Recorder } from '#observability/recordings/recording/recorder'
import { RecordingFiles } from '#observability/recordings/recording/recording-files'
import { ParsedRecording } from '#observability/recordings/replay/parsed-recording'
import { Runs } from '#observability/runs/contract'
import { DaemonStarts } from '#platform/daemon/contract'
import { FencedError } from '#platform/heartbeat/contract'
import { Store } from '#platform/store/contract'
import { Toolkits } from '#tools/toolkits/contract'
import {
  fault,
  type ModelServerRequest,
  replayRecording,
  type TestHost,
  tempDir,
  text,
  together,
  toolCall,
  until,
} from '../../support/index.ts'
import Sqlite from '../../support/sqlite.ts'
import { asksForSummary, summary } from '../core/goals/summary-host.ts'
import { asksForGoal, goalsOf, spawn } from '../core/models/model-host.ts'
import { all, finishedTask, streamTask, textOf } from '../core/tasks/tasks-host.ts'
import { ScriptedServer } from '../tools/mcp-client/mcp-client-host.ts'
import { busyModel, replayOf, runOf, runsOf, testHostWithRecordings } from './recordings-host.ts'
import { finish, numberedGoals } from './runs-host.ts'

const look = (to: string) => toolCall('look', { to })

/** Runs a daemon until its agent has reached a goal. @returns its run */
async function oneGoal(home: Awaited<ReturnType<typeof testHostWithRecordings>>): Promise<string> {
  await home.start()
  const agent = await spawn(home)
  await until(async () => (await goalsOf(home, agent)).some(goal => goal.status === 'completed'))
  await home.stop()
  return runOf(home)
}

const recordingsOf = ({ kernel }: TestHost) =>
  new RecordingFiles({ ports: kernel.ports, project: kernel.project } as never)

test('five runs with several agents, approvals, nudges, pauses and model faults replay to the same log', async () => {
  await using home = await testHostWithRecordings(busyModel(11))
  const agents: string[] = []
  for (let run = 0; run < 5; run++) {
    await home.start()
    if (run === 0) {
      for (let n = 0; n < 4; n++) agents.push((await home.ask('POST', '/agents', { preset: 'worker' })).agent_id)
    }
    for (let act = run % 3; act <= (run % 3) + 1; act++) {
      const from = home.server.requests.length
      const agent = agents[(run + act) % agents.length]
      await home.ask('POST', `/agents/${agent}/nudge`, { message: `hurry ${act}` })
      for (const { approval_id } of await home.ask('GET', '/approvals?status=pending')) {
        await home.ask('POST', `/approvals/${approval_id}`, { decision: act % 3 ? 'approve' : 'deny' })
      }
      if (act === 1) await home.ask('POST', `/agents/${agent}/pause`)
      if (act === 2) for (const each of agents) await home.ask('POST', `/agents/${each}/resume`)
      // Wait for a step of any agent, but not when all wait for the operator.
      await Promise.race([home.server.request(from + 4), new Promise(resolve => setTimeout(resolve, 200))])
    }
    await home.stop()
  }
  for (const run of await runsOf(home)) {
    const verdict = await replayOf(home, run)
    expect(verdict, JSON.stringify(verdict)).toMatchObject({ same: true, divergence: null, notes: [] })
    expect(verdict.replayed_hash).toBe(verdict.hash)
  }
  expect((await runsOf(home)).length).toBe(5)
  const types = await home.kernel.use(Store).all<{ type: string }>('SELECT DISTINCT type FROM events')
  expect(types.map(({ type }) => type)).toEqual(
    expect.arrayContaining([
      'approval_requested',
      'approval_resolved',
      'goal_completed',
      'model_called',
      'tool_result',
    ]),
  )
}, 300_000)

test('a run replays in which a goal was abandoned between two attempts of its model call', async () => {
  const goals = numberedGoals(finish)
  let abandon = () => {}
  const answer = (request: ModelServerRequest) => {
    if (asksForGoal(request)) return goals(request)
    abandon()
    return fault('500')
  }
  await using home = await testHostWithRecordings(answer, { model: { retry_delay: 0.5 } })
  const agent = await spawn(home)
  const own = () => goalsOf(home, agent)
  abandon = () => void own().then(([goal]) => home.kernel.invoke('goals.abandon', { goal_id: goal!.goal_id }))
  await home.start()
  await until(async () => (await own()).filter(({ status }) => status === 'abandoned').length >= 2)
  await home.stop()
  expect(await replayOf(home, await runOf(home))).toMatchObject({ same: true, divergence: null })
})

test('a one-shot task replays: from its own process, from the daemon, and after an approval', async () => {
  await using home = await testHostWithRecordings(
    request => (asksForGoal(request) ? text('nothing') : ofTask(request)),
    {
      tasks: { toolkits: ['hands', 'memory'] },
    },
  )
  const agent = await spawn(home)
  const run = async (instruction: string) => {
    const { task_id, status } = await home.ask('POST', `/agents/${agent}/tasks`, { instruction })
    return { task_id, status, runs: await taskRunsOf(home, task_id) }
  }
  await home.stop()
  const alone = [await run('look twice'), await run('look twice')]
  await home.start()
  const [beside, waits] = await Promise.all([run('look twice'), run('send it')])
  expect(waits.status).toBe('waiting_approval')
  const { within: daemon } = await home.ask('GET', `/runs/${beside.runs[0]}/recording`)
  const list = home.kernel.points.find(Operations, 'recordings.list')!
  const renderList = async () => list.render?.((await home.ask('GET', '/recordings')) as never)
  expect(await renderList()).toContain(`${daemon}  daemon  still running`)
  expect(await renderList()).toContain(`${beside.runs[0]}  task  in ${daemon}`)
  const [{ approval_id }] = await home.ask('GET', '/approvals?status=pending')
  await home.ask('POST', `/approvals/${approval_id}`, { decision: 'approve' })
  await until(async () => (await home.ask('GET', `/tasks/${waits.task_id}`)).status === 'completed')
  await home.stop()
  expect(await renderList()).toMatch(new RegExp(`${daemon}  daemon  \\d+ cycles?, \\d+ steps?`))
  const runs = [...alone, beside].flatMap(({ runs }) => runs).concat(await taskRunsOf(home, waits.task_id))
  expect(runs).toHaveLength(5)
  for (const each of [...runs, await runOf(home)]) {
    const verdict = await replayOf(home, each)
    expect(verdict, JSON.stringify(verdict)).toMatchObject({ same: true, divergence: null, notes: [] })
    expect(verdict.events).toBeGreaterThan(2)
    const { cycles, steps } = await home.ask('GET', `/runs/${each}/recording`)
    expect(verdict, 'counts what the recording counts').toMatchObject({ cycles, steps })
  }
  const { kind, steps_taken } = await home.ask('GET', `/runs/${runs[1]}/recording`)
  expect(kind).toBe('task')
  expect(steps_taken.map(({ says }: { says: string }) => says)).toEqual(['look', 'look', 'That is all.'])
}, 60_000)

test('a daemon that starts during a task of the same process replays without a divergence', async () => {
  let goOn = () => {}
  const held = new Promise<void>(resolve => {
    goOn = resolve
  })
  const ofAgent = numberedGoals(look('a'), finish)
  await using home = await testHostWithRecordings(
    async request => {
      if (!request.prompt.includes('look twice')) return ofAgent(request)
      await held
      return ofTask(request)
    },
    { tasks: { toolkits: ['hands'] } },
  )
  const agent = await spawn(home)
  await home.stop()
  const task = home.ask('POST', `/agents/${agent}/tasks`, { instruction: 'look twice' })
  await home.server.request(1)
  await home.start()
  await until(async () => (await goalsOf(home, agent)).some(goal => goal.status === 'completed'))
  goOn()
  expect(await task).toMatchObject({ status: 'completed', tool_calls_made: 2 })
  const { length } = await goalsOf(home, agent)
  await until(async () => (await goalsOf(home, agent)).length > length + 1)
  await home.stop()
  const [daemon = '', ofItself = ''] = await runsOf(home)
  expect(await replayOf(home, ofItself)).toMatchObject({
    same: true,
    notes: ['the recording ends before the task does'],
  })
  const verdict = await replayOf(home, daemon)
  expect(verdict, JSON.stringify(verdict)).toMatchObject({ same: true, divergence: null, notes: [] })
}, 60_000)

test("a task that starts while the daemon's recording starts is recorded too", async () => {
  await using home = await testHostWithRecordings(
    request => (asksForGoal(request) ? text('nothing') : ofTask(request)),
    {
      tasks: { toolkits: ['hands'] },
    },
  )
  const agent = await spawn(home)
  await home.stop()
  const { kernel } = home
  const daemon = await kernel.use(Runs).begin('daemon')
  const begins = kernel
    .list(DaemonStarts)
    .find(({ name }) => name === 'recordings')
    ?.begin()
  const { task_id } = await home.ask('POST', `/agents/${agent}/tasks`, { instruction: 'look twice' })
  const end = await begins
  await (end as () => Promise<void>)()
  const [run = ''] = await taskRunsOf(home, task_id)
  expect((await recordingsOf(home).list()).map(({ kind }) => kind).sort()).toEqual(['daemon', 'daemon', 'task'])
  expect(await home.ask('GET', `/runs/${run}/recording`)).toMatchObject({ within: daemon, steps: 3 })
  expect(await replayOf(home, run)).toMatchObject({ same: true, divergence: null })
}, 60_000)

test('a recording that is kept only for its tasks is not listed', async () => {
  await using home = await testHostWithRecordings(
    request => (asksForGoal(request) ? text('nothing') : ofTask(request)),
    {
      tasks: { toolkits: ['hands', 'memory'] },
      retention: { max_runs: 1 },
    },
  )
  const agent = await spawn(home)
  await home.start()
  const daemon = await runOf(home)
  const { task_id } = await home.ask('POST', `/agents/${agent}/tasks`, { instruction: 'look twice' })
  const [run = ''] = await taskRunsOf(home, task_id)
  await until(async () => (await runsOf(home)).length === 2)
  await home.stop()
  expect((await home.ask('GET', `/runs/${run}/recording`)).within).toBe(daemon)
  expect((await home.ask('POST', `/runs/${daemon}/replay`)).code).toBe('run_not_found')
  expect(await runsOf(home)).toEqual([run])
  expect(await replayOf(home, run)).toMatchObject({ same: true, divergence: null })
}, 60_000)

test('a task with streamed output replays and can be forked at a step', async () => {
  await using home = await testHostWithRecordings(
    request => (asksForGoal(request) ? text('nothing') : together(text('I look.'), ofTask(request))),
    { tasks: { toolkits: ['hands', 'memory'] } },
  )
  const agent = await spawn(home)
  const events = await all(await streamTask(home, agent, 'look twice'))
  expect(textOf(events)).toBe('I look.That is all.')
  const [run = ''] = await taskRunsOf(home, finishedTask(events).task_id)
  expect(await replayOf(home, run)).toMatchObject({ same: true, divergence: null })
  const { fork } = await home.ask('POST', `/runs/${run}/replay`, { from: 2 })
  expect(await replayOf(home, fork.run_id)).toMatchObject({ same: true, divergence: null })
}, 60_000)

test('a task whose conversation was summarized replays with the same summaries and no model call', async () => {
  let summaries = 0
  const step = 'I look again, and think about what I saw there. '.repeat(60)
  const script = (request: ModelServerRequest) => {
    if (asksForGoal(request)) return text('nothing')
    if (asksForSummary(request)) return summary(`Summary number ${++summaries}.`)
    return request.n > 30 ? text('That is all.') : together(text(`${request.n}: ${step}`), toolCall('look'))
  }
  const files = { 'models.yaml': 'models: { "openai:scripted": { context_window: 8000 } }\n' }
  await using home = await testHostWithRecordings(script, { tasks: { toolkits: ['hands'] } }, { files })
  const agent = await spawn(home)
  const body = { instruction: 'look often', max_steps: 60 }
  const { task_id, output } = await home.ask('POST', `/agents/${agent}/tasks`, body)
  expect(output).toBe('That is all.')
  expect(summaries).toBeGreaterThan(0)
  const askedForTask = () => home.server.requests.filter(request => !asksForGoal(request)).length
  const asked = askedForTask()
  const [run = ''] = await taskRunsOf(home, task_id)
  expect(await replayOf(home, run)).toMatchObject({ same: true, divergence: null })
  expect(askedForTask()).toBe(asked)
}, 60_000)

test('a task whose instruction contains a lone surrogate replays', async () => {
  await using home = await testHostWithRecordings(ofTask, { tasks: { toolkits: ['hands'] } })
  const agent = await spawn(home)
  const { task_id } = await home.ask('POST', `/agents/${agent}/tasks`, { instruction: 'look \ud800 twice' })
  const [run = ''] = await taskRunsOf(home, task_id)
  expect(await home.ask('GET', `/tasks/${task_id}`)).toMatchObject({ instruction: 'look \ufffd twice' })
  expect(await replayOf(home, run)).toMatchObject({ same: true, divergence: null })
}, 60_000)

test('a task can be forked at a step with another model or with an added plugin', async () => {
  await using home = await testHostWithRecordings(
    request =>
      asksForGoal(request) ? text('nothing') : request.body.model === 'brief' ? text('Done.') : ofTask(request),
    { tasks: { toolkits: ['hands', 'memory'] } },
  )
  const agent = await spawn(home)
  const task = async () => (await home.ask('POST', `/agents/${agent}/tasks`, { instruction: 'look twice' })).task_id
  await task()
  const [run = ''] = await taskRunsOf(home, await task())
  const { steps_taken } = await home.ask('GET', `/runs/${run}/recording`)
  const from = steps_taken[1].step
  const { fork, diff } = await home.ask('POST', `/runs/${run}/replay`, { from, model: 'openai:brief' })
  expect(fork).toMatchObject({ kind: 'fork', events_of: run, forked_from: { run_id: run, step: from } })
  expect(diff).toMatchObject({ same: false, a: { after: { steps: 2 } }, b: { after: { steps: 1, tool_calls: 0 } } })
  expect(await replayOf(home, fork.run_id)).toMatchObject({ same: true, divergence: null })
  const plugin = join(home.root, 'calm.mjs')
  const before = await runsOf(home)
  const withPlugin = () => home.kernel.invoke('recordings.replay_file', { run, from, plugin })
  await expect(withPlugin()).rejects.toThrow(`cannot be forked at step ${from}: Plugin "calm" (${plugin}): ENOENT`)
  await writeFile(plugin, "export default { name: 'calm', setup(svc) { svc.nothing() } }\n")
  await expect(withPlugin()).rejects.toThrow(`Plugin "calm" (${plugin}:1): svc.nothing is not a function`)
  expect(await runsOf(home)).toEqual(before)
  await writeFile(plugin, "export default { name: 'calm', setup(svc) { svc.on('task_ended', () => {}) } }\n")
  const again = (await withPlugin()) as typeof diff
  expect(again.fork).toMatchObject({ forked_from: { plugin: 'calm.mjs', model: null } })
  // The model repeats its answers; the tool's results are random.
  expect(again.diff).toMatchObject({ a: { steps: 3 }, b: { steps: 3 } })
  expect(await replayOf(home, again.fork.run_id)).toMatchObject({ same: true, divergence: null, notes: [] })
}, 60_000)

test('a model that depends on its prompt works in a fork too: the simulated model uses tools', async () => {
  await using home = await testHostWithRecordings(numberedGoals(look('a'), finish))
  const run = await oneGoal(home)
  const { fork } = await home.ask('POST', `/runs/${run}/replay`, { from: 1, model: 'sim', cycles: 12 })
  const events = await recordingsOf(home).events(fork.run_id)
  expect(events?.map(({ type }) => type)).toContain('tool_result')
  expect(await replayOf(home, fork.run_id)).toMatchObject({ same: true, divergence: null })
  const booked = await home.kernel.use(Store).all("SELECT DISTINCT kind, agent_id FROM spend WHERE model LIKE 'sim%'")
  expect(booked).toEqual([{ kind: 'other', agent_id: null }])
}, 60_000)

test('a fork chooses goals with model.planning_model, like its run', async () => {
  await using home = await testHostWithRecordings(numberedGoals(look('a'), finish), {
    model: { planning_model: 'openai:planner' },
  })
  const run = await oneGoal(home)
  const asked = home.server.requests.length
  const { fork } = await home.ask('POST', `/runs/${run}/replay`, { from: 2, cycles: 4 })
  const chose = home.server.requests.slice(asked).filter(asksForGoal)
  expect(new Set(chose.map(({ body }) => body.model))).toEqual(new Set(['planner']))
  expect(await replayOf(home, fork.run_id)).toMatchObject({ same: true, divergence: null })
})

test('a fork of a fork replays and can be compared with it', async () => {
  await using home = await testHostWithRecordings(numberedGoals(look('a'), finish))
  const run = await oneGoal(home)
  const { fork: first } = await home.ask('POST', `/runs/${run}/replay`, { from: 2, cycles: 8 })
  const { fork: second, diff: on } = await home.ask('POST', `/runs/${first.run_id}/replay`, { from: 5, cycles: 8 })
  // The fork creates ids that neither of the others has.
  expect(on.a.goals_completed).toBeGreaterThan(2)
  expect(on.b.goals_completed).toBeGreaterThan(on.a.goals_completed - on.a.after.goals_completed + 2)
  expect(await replayOf(home, second.run_id)).toMatchObject({ same: true, divergence: null })
  const { fork, diff } = await home.ask('POST', `/runs/${first.run_id}/replay`, { from: 3, model: 'sim', cycles: 3 })
  expect(fork).toMatchObject({ events_of: run, forked_from: { run_id: first.run_id, step: 3 } })
  expect(diff.common).toBeGreaterThan(3)
  expect(diff.b.after).toMatchObject({ steps: diff.b.steps - 2 })
  const verdict = await replayOf(home, fork.run_id)
  expect(verdict).toMatchObject({ same: true, divergence: null, events: diff.b.events })
})

test('agents of a fork use the profiles of the project', async () => {
  await using home = await testHostWithRecordings(numberedGoals(look('a'), finish))
  const run = await oneGoal(home)
  const { fork } = await home.ask('POST', `/runs/${run}/replay`, { from: 2, cycles: 4 })
  const events = await recordingsOf(home).events(fork.run_id)
  expect(events?.filter(({ type, cycle_num }) => type === 'model_called' && cycle_num === 3)).toHaveLength(1)
  expect(await replayOf(home, fork.run_id)).toMatchObject({ same: true, divergence: null })
})

test('a fork ends early when no agent is active', { timeout: 60_000 }, async () => {
  await using home = await testHostWithRecordings(
    request => (asksForGoal(request) ? text('nothing') : ofTask(request)),
    {
      tasks: { toolkits: ['hands', 'memory'] },
    },
  )
  const agent = await spawn(home)
  await home.ask('POST', `/agents/${agent}/pause`)
  const { task_id } = await home.ask('POST', `/agents/${agent}/tasks`, { instruction: 'look twice' })
  const [run] = await taskRunsOf(home, task_id)
  const { fork } = await home.ask('POST', `/runs/${run}/replay`, { from: 2, cycles: 400 })
  expect(fork).toMatchObject({ kind: 'fork', forked_from: { run_id: run, step: 2 } })
  expect(fork.cycles).toBeLessThan(400)
})

test('no run is recorded when the database is on a server, and a replay request says so', async () => {
  await using home = await testHostWithRecordings(numberedGoals(finish))
  const store = home.kernel.use(Store)
  await home.stop()
  Object.defineProperty(store, 'image', { value: undefined })
  await home.start()
  await home.stop()
  const [run] = await store.all<{ run_id: string }>('SELECT run_id FROM runs ORDER BY rowid DESC LIMIT 1')
  expect(await runsOf(home)).not.toContain(run!.run_id)
  const answer = await home.ask('POST', `/runs/${run!.run_id}/replay`)
  expect(answer).toMatchObject({ code: 'not_replayable', status: 409 })
  expect(answer.detail).toContain('its database is on a server')
})

const taskRunsOf = async ({ kernel }: TestHost, task_id: string): Promise<string[]> => {
  const rows = await kernel
    .use(Store)
    .all<{ run_id: string }>(
      "SELECT run_id FROM runs WHERE kind = 'task' AND facts LIKE ? ORDER BY started_at, rowid",
      [`%${task_id}%`],
    )
  return rows.map(({ run_id }) => run_id)
}

function ofTask({ body: { messages } }: ModelServerRequest) {
  const done = messages.filter(({ role }) => role === 'tool').length
  if (messages.some(({ content }) => String(content).includes('send it'))) {
    return done === 0 ? toolCall('send', { to: 'ada' }) : text('It is sent.')
  }
  return done < 2 ? look(`place ${done}`) : text('That is all.')
}

test('an altered tool result is reported as the first divergence', async () => {
  await using home = await testHostWithRecordings(numberedGoals(look('a'), look('b'), finish))
  const run = await oneGoal(home)
  const file = join(home.root, '.svc', 'recordings', run, 'tape.gz')
  const entries = await recordingsOf(home).entries(run)
  const altered = JSON.parse(JSON.stringify(entries).replace(/saw 0/, 'saw 1')) as typeof entries
  await writeFile(file, '')
  const written = await recordingsOf(home).openLog(run)
  await written.append(JSON.stringify(altered))
  await written.close()
  const verdict = await replayOf(home, run)
  expect(verdict).toMatchObject({ same: false, divergence: { step: 2, cycle_num: 2 } })
  expect(verdict.divergence?.what).toContain('tool_result')
  expect(verdict.divergence?.expected).toContain('saw 0')
  expect(verdict.divergence?.got).toContain('saw 1')
  expect(verdict.replayed_hash).not.toBe(verdict.hash)
})

test('a changed prompt is reported as a divergence', async () => {
  await using home = await testHostWithRecordings(numberedGoals(look('a'), finish))
  const run = await oneGoal(home)
  const entries = await recordingsOf(home).entries(run)
  const altered = entries.map(entry =>
    entry[0] === 'v' && entry[3] !== 0 ? (entry.with(3, entry[3] ^ 1) as Entry) : entry,
  )
  expect(altered).not.toEqual(entries)
  await writeFile(join(home.root, '.svc', 'recordings', run, 'tape.gz'), '')
  const written = await recordingsOf(home).openLog(run)
  await written.append(JSON.stringify(altered))
  await written.close()
  const { same, divergence } = await replayOf(home, run)
  expect(same).toBe(false)
  expect(divergence).toMatchObject({ step: 1, what: expect.stringContaining('differs from the recorded one') })
})

test('a recorded value does not change with its object', () => {
  const recorder = new Recorder(text => text)
  const identity = { id: 'worker-1', kind: 'agent', owner: 'me', epoch: 1, cycle_num: 1 } as const
  const context = recorder.begin(identity, new CycleEnd())!
  const given = context.take('tool look', () => ({ result: 'four sheep' })) as { result: string }
  given.result = 'none'
  const asked: (string | object)[] = ['How many?']
  context.take(
    'model',
    () => Object.freeze({ text: 'Four.' }),
    () => asked,
  )
  asked.push('Are you sure?')
  const entries = JSON.parse(`[${recorder.take()}]`) as Entry[]
  const values = entries.flatMap(entry => (entry[0] === 'v' ? [entry.slice(3)] : []))
  expect(values).toEqual([
    [0, { $j: { result: 'four sheep' } }],
    [new Digester(text => text).of(['How many?']), { $j: { text: 'Four.' } }],
  ])
})

test('a repeated long answer is recorded once', () => {
  const recorder = new Recorder(text => text)
  const identity = { id: 'worker-1', kind: 'agent', owner: 'me', epoch: 1, cycle_num: 1 } as const
  const context = recorder.begin(identity, new CycleEnd())!
  const answers = ['model', 'tool look', 'model', 'tool look'].map(what => {
    const text = 'four sheep '.repeat(1000)
    return context.take(what, () => (what === 'model' ? Object.freeze({ text }) : text))
  })
  const entries = JSON.parse(`[${recorder.take()}]`) as Entry[]
  expect(entries.filter(([kind]) => kind === 'x')).toHaveLength(2)
  const recording = new ParsedRecording(entries, { was: 1, is: 1 })
  const values = entries.flatMap(entry => (entry[0] === 'v' ? [recording.value(entry[4])] : []))
  expect(values).toEqual(answers)
})

test('a cycle that was aborted before it began is recorded as such', () => {
  const recorder = new Recorder(text => text)
  const end = new CycleEnd()
  end.abort(new FencedError({ agent_id: 'a' }))
  recorder.begin({ id: 'a', kind: 'agent', owner: 'o', epoch: 1, cycle_num: 1 }, end)
  expect(JSON.parse(`[${recorder.take()}]`)).toMatchObject([
    ['b', 0, 'a', 'agent', 'o', 1, 1],
    ['a', 0, { code: 'fenced' }],
  ])
})

test('a recording of an earlier version is refused, with both versions', async () => {
  await using home = await testHostWithRecordings(numberedGoals(finish))
  const run = await oneGoal(home)
  const file = join(recordingsOf(home).folderOf(run), 'recording.json')
  await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, 'utf8')), v: 7 }))
  const versions = `its format version is 7, but this version of svc reads version ${LOG_VERSION}`
  await expect(replayOf(home, run)).rejects.toThrow(`The run ${run} cannot be replayed: ${versions}.`)
  await expect(replayRecording(EARLIER)).rejects.toThrow('its format version is 1, ')
})

test('a fork with another model is a separate run that replays, with a diff of steps and cost', async () => {
  await using home = await testHostWithRecordings(request =>
    request.body.model === 'brief' ? finish : scriptOfLong(request),
  )
  const run = await oneGoal(home)
  const before = home.server.requests.length
  const { fork, diff } = await home.ask('POST', `/runs/${run}/replay`, { from: 3, model: 'openai:brief' })
  expect(home.server.requests.slice(before).every(({ body }) => body.model === 'brief')).toBe(true)
  expect(fork).toMatchObject({ kind: 'fork', forked_from: { run_id: run, step: 3, model: 'openai:brief' } })
  expect(diff).toMatchObject({ same: false, a: { goals_completed: 1 }, b: { goals_completed: 1 } })
  expect(diff.divergence).toMatchObject({ cycle_num: 2 })
  const shown = home.kernel.points.find(Operations, 'recordings.diff')!.render?.(diff as never)
  expect(shown).toContain('\nA  model_called {"model":"openai:scripted"')
  expect(shown).toContain('\nB  model_called {"model":"openai:brief"')
  expect(diff.b.after.steps).toBeLessThan(diff.a.after.steps)
  expect(diff.b.after.tokens).toBeLessThan(diff.a.after.tokens)
  // The project contains nothing of the fork: no agent, event or goal.
  expect(await home.ask('GET', `/runs/${run}/diff/${run}`)).toMatchObject({ same: true })
  expect(await replayOf(home, fork.run_id)).toMatchObject({ same: true, divergence: null })
  const { steps_taken } = await home.ask('GET', `/runs/${fork.run_id}/recording`)
  expect(steps_taken.map(({ says }: { says: string }) => says).slice(1, 3)).toEqual(['look', 'finish_goal'])
})

const scriptOfLong = numberedGoals(look('a'), look('b'), look('c'), finish)

test('recordings and saved files contain no secret values, and both replay', async () => {
  // JSON within a JSON string escapes these characters once more.
  const secret = 'hunter2-is-"the"-\\password'
  const leaks = numberedGoals(toolCall('look', { to: secret }), finish, toolCall('look', { to: secret }), finish)
  // A table of a plugin, which has the secret before the run.
  const table = `import { definePlugin } from 'svc'
    export default definePlugin({ name: 'tides', needs: ['store'], setup: svc => svc.migrations([
      'CREATE TABLE tides (place VARCHAR PRIMARY KEY)', ${JSON.stringify(`INSERT INTO tides VALUES ('${secret}')`)}
    ]) })`
  const options = { env: { MY_PASSWORD: secret }, plugins: { 'tides.ts': table } }
  await using home = await testHostWithRecordings(leaks, {}, options)
  const run = await oneGoal(home)
  const file = join(home.root, 'run.svcrec')
  await home.kernel.invoke('recordings.replay_file', { run, save: file })
  const log = JSON.stringify(await recordingsOf(home).entries(run))
  expect(log).toContain('***')
  expect(log).not.toContain('hunter2')
  const saved = gunzipSync(await readFile(file)).toString()
  const state = Buffer.from((JSON.parse(saved) as { state: string }).state, 'base64')
  expect(saved).not.toContain('hunter2')
  expect(state.includes('hunter2')).toBe(false)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  const notes = ['values of secrets are hidden in the recording']
  expect(await replayOf(home, run)).toMatchObject({ same: true, notes })
  expect(await replayOf(home, file)).toMatchObject({ same: true, notes })
  // Prompts of a fork are free of it too, although its project does not know the secret.
  const { fork, diff } = await home.ask('POST', `/runs/${run}/replay`, { from: 1, cycles: 3 })
  expect(JSON.stringify([await recordingsOf(home).events(fork.run_id), diff])).not.toContain('hunter2')
  expect(await replayOf(home, fork.run_id)).toMatchObject({ same: true, divergence: null })
})

test('recordings are limited in size, with a note when cut, and in number', async () => {
  await using home = await testHostWithRecordings(numberedGoals(look('a'), finish), {
    recordings: { max_mb: 0.0001 },
    retention: { max_runs: 1 },
  })
  const first = await oneGoal(home)
  const { cut } = await home.ask('GET', `/runs/${first}/recording`)
  expect(cut).toContain('recordings.max_mb')
  // The rest still replays. At the cut, a time may be missing that was read before its event was written.
  const { divergence, notes } = await replayOf(home, first)
  expect(notes).toEqual([cut])
  expect(divergence?.what ?? 'differs in at').toMatch(/differs in at$/)
  const second = await oneGoal(home)
  expect(await runsOf(home)).toEqual([second])
  expect((await home.ask('GET', `/runs/${first}/recording`)).code).toBe('recording_not_found')
})

test('a fork is listed and kept by the time of its creation, not by the age of its run', async () => {
  await using home = await testHostWithRecordings(numberedGoals(look('a'), finish), { retention: { max_runs: 3 } })
  const [first, second] = [await oneGoal(home), await oneGoal(home)]
  const { fork } = await home.ask('POST', `/runs/${first}/replay`, { from: 2, cycles: 1 })
  expect(await runsOf(home)).toEqual([fork.run_id, second, first])
  const third = await oneGoal(home)
  expect(await runsOf(home)).toEqual([third, fork.run_id, second])
  expect(await replayOf(home, fork.run_id)).toMatchObject({ same: true, divergence: null })
})

test('a replay diverges where a write refers to rows that another process wrote', async () => {
  await using home = await testHostWithRecordings(numberedGoals(finish))
  const run = await oneGoal(home)
  const entries = await recordingsOf(home).entries(run)
  const spawns = entries.find(entry => entry[0] === 's' && /INSERT INTO agents\b/.test(entry[2]))?.[1]
  const without = entries.map(entry => (entry[0] === 'o' ? ['o', entry[1].filter(([sql]) => sql !== spawns)] : entry))
  await writeFile(join(recordingsOf(home).folderOf(run), 'tape.gz'), '')
  const written = await recordingsOf(home).openLog(run)
  await written.append(JSON.stringify(without))
  await written.close()
  const { same, divergence } = await replayOf(home, run)
  expect(same).toBe(false)
  expect(divergence?.what).toBe('a recorded write from outside the agents cannot be repeated')
})

test('a run whose oldest events were deleted replays, with a note that they were not compared', async () => {
  await using home = await testHostWithRecordings(numberedGoals(look('the left'), finish))
  const run_id = await oneGoal(home)
  const { events } = await replayOf(home, run_id)
  const folder = join(home.root, 'logs', 'runs', run_id)
  const [log = ''] = (await readdir(folder)).filter(name => name.endsWith('.jsonl'))
  const lines = (await readFile(join(folder, log), 'utf8')).split('\n').slice(2)
  await writeFile(join(folder, log), lines.join('\n'))
  const db = new Sqlite(join(home.root, '.svc', 'svc.db'))
  db.prepare('DELETE FROM events WHERE run_id = ? AND seq < ?').run(run_id, JSON.parse(lines[0]!).seq)
  db.close()
  const verdict = await replayOf(home, run_id)
  expect(verdict).toMatchObject({ same: true, events: events - 2 })
  expect(verdict.notes).toEqual(['the oldest 2 events are no longer kept and were not compared'])
})

test('retention leaves a recording alone that another process has just begun', async () => {
  await using home = await testHostWithRecordings(numberedGoals(finish))
  const run_id = 'run-20990101-000000-abcdef'
  const about = await recordingsOf(home).readRecording(await oneGoal(home))
  await recordingsOf(home).write({
    ...about,
    run_id,
    kind: 'process',
    started_at: '2099-01-01T00:00:00.000Z',
    ended_at: null,
  })
  await home.kernel.invoke('retention.run')
  expect(await recordingsOf(home).readRecording(run_id)).toMatchObject({ kind: 'process', ended_at: null })
})

test('a replay names what is missing: the end of a full log, a damaged record or the initial database', async () => {
  await using home = await testHostWithRecordings(
    request => (asksForGoal(request) ? text('nothing') : ofTask(request)),
    {
      recordings: { max_mb: 0.0001 },
      tasks: { toolkits: ['hands'] },
    },
  )
  const agent = await spawn(home)
  await home.start()
  const daemon = await runOf(home)
  await until(async () => (await home.ask('GET', `/runs/${daemon}/recording`)).cut)
  const { task_id } = await home.ask('POST', `/agents/${agent}/tasks`, { instruction: 'look twice' })
  const [run = ''] = await taskRunsOf(home, task_id)
  await expect(replayOf(home, run)).rejects.toThrow(
    `the recording of ${daemon} ends before this task (the recording is larger than`,
  )
  await writeFile(join(recordingsOf(home).folderOf(run), 'recording.json'), '')
  await expect(replayOf(home, run)).rejects.toThrow('recording.json is damaged')
  await rm(join(home.root, '.svc/recordings/states'), { recursive: true })
  await expect(replayOf(home, daemon)).rejects.toThrow('its initial database is missing')
})

test('a truncated log replays up to its end, with a note; a damaged one is reported', async () => {
  await using home = await testHostWithRecordings(numberedGoals(look('a'), finish))
  const run = await oneGoal(home)
  const { events, steps } = await replayOf(home, run)
  const file = join(recordingsOf(home).folderOf(run), 'tape.gz')
  const log = await readFile(file)
  await writeFile(file, log.subarray(0, Math.floor(log.length / 2)))
  const verdict = await replayOf(home, run)
  expect(verdict).toMatchObject({ same: true, divergence: null, notes: ['the end of its log is missing'] })
  expect(verdict.events + verdict.steps).toBeLessThan(events + steps)
  await writeFile(file, log.fill(0, 20))
  await expect(replayOf(home, run)).rejects.toThrow(`${file} is damaged`)
  expect(await home.ask('GET', `/runs/${run}/recording`)).toMatchObject({ code: 'not_replayable', status: 409 })
})

test('recording can be disabled, and a database that is too large is not recorded', async () => {
  await using off = await testHostWithRecordings(numberedGoals(finish), { recordings: { enabled: false } })
  await off.start()
  await off.stop()
  expect(await runsOf(off)).toEqual([])
  await using large = await testHostWithRecordings(numberedGoals(finish), { recordings: { max_state_mb: 0.001 } })
  await large.start()
  await large.stop()
  const [run] = await runsOf(large)
  const answer = await large.ask('POST', `/runs/${run}/replay`)
  expect(answer).toMatchObject({ code: 'not_replayable', status: 409 })
  expect(answer.detail).toContain('recordings.max_state_mb')
})

/** Recording of a restarted daemon of version 0.1.0, with an agent in the middle of its goal. */
const EARLIER = fileURLToPath(new URL('./earlier.svcrec', import.meta.url))

test('a transcript that an earlier version recorded still resumes', async () => {
  const { state } = JSON.parse(gunzipSync(await readFile(EARLIER)).toString()) as { state: string }
  await using dir = await tempDir()
  await mkdir(join(dir.path, '.svc'))
  await writeFile(join(dir.path, '.svc', 'svc.db'), Buffer.from(state, 'base64'))
  await using home = await testHostWithRecordings(numberedGoals(finish), {}, { root: dir.path })
  await home.start()
  await until(async () => (await home.ask('GET', '/agents')).length === 1)
  const [{ agent_id }] = await home.ask('GET', '/agents')
  await until(async () => (await goalsOf(home, agent_id)).some(goal => goal.status === 'completed'))
  const { body } = await home.server.request(1)
  const results = body.messages.filter(({ role }) => role === 'tool').map(({ content }) => content)
  expect(results.length).toBe(2)
  expect(body.messages.flatMap(({ tool_calls = [] }) => tool_calls)).toHaveLength(2)
  await home.stop()
  expect(await replayOf(home, await runOf(home))).toMatchObject({ same: true })
})

test('a run with a plugin from a file replays, with its goal strategy, configuration and tools', async () => {
  const file = `import { definePlugin, tool, z } from 'svc'
export default definePlugin({ name: 'thirst', config: z.object({ drink: z.string().default('tea') }), setup(svc, config) {
  let n = 0
  svc.goalStrategy({ generateGoal: async () => ({ objective: \`Drink \${config.drink} \${++n}\`, cost_usd: 0, tokens: 0 }) })
  const look = tool({ name: 'sip', description: 'Sips.', parameters: z.object({}), execute: () => 'hot' })
  svc.toolkit({ name: 'cup', tools: [look] })
} })`
  await using home = await testHostWithRecordings(
    ({ prompt }) => (prompt.includes('hot') ? finish : toolCall('sip', {})),
    { plugins: { config: { thirst: { drink: 'coffee' } } } },
    { plugins: { 'thirst.ts': file } },
  )
  await home.write({ 'profiles/worker.yaml': 'name: worker\nrole: Drinks.\ntoolkits: [plugins]\n' })
  const run = await oneGoal(home)
  const verdict = await replayOf(home, run)
  expect(verdict, JSON.stringify(verdict)).toMatchObject({ same: true, divergence: null, notes: [] })
  const plugin = join(home.root, 'calm.mjs')
  await writeFile(plugin, "export default { name: 'calm', setup() {} }\n")
  const { fork } = (await home.kernel.invoke('recordings.replay_file', { run, from: 2, cycles: 1, plugin })) as {
    fork: object
  }
  expect(fork).toMatchObject({ forked_from: { run_id: run, step: 2, plugin: 'calm.mjs' } })
  const goals = await home.kernel.use(Store).all<{ objective: string }>('SELECT objective FROM goals')
  expect(goals[0]?.objective).toBe('Drink coffee 1')
}, 60_000)

/** Reads goals, a prompt section and decisions from files; its handler is slow. */
const READER = `import { ApprovalReviewers, definePlugin, PromptSections } from 'svc'
import { join } from 'node:path'
export default definePlugin({ name: 'reader', setup(svc) {
  const read = name => svc.ports.files.readFile(join(svc.project.root, name), 'utf8')
  svc.goalStrategy({ generateGoal: async () => ({ objective: \`\${await read('goal.txt')} \${svc.clock.ms()}\`, cost_usd: 0, tokens: 0 }) })
  svc.add(PromptSections, { name: 'weather', stage: 9, prompts: ['goal_pursuit'], text: () => read('weather.txt') })
  svc.add(ApprovalReviewers, { name: 'reader', review: async () => ({ decision: await read('decision.txt') }) })
  svc.on('cycle_end', () => svc.clock.sleep(5))
} })`
const READ = { 'goal.txt': 'Watch the birds of the hour', 'weather.txt': 'It rains.', 'decision.txt': 'approve' }

test("answers of a plugin's file are recorded: a replay does not read the files behind them", async () => {
  const script = numberedGoals(toolCall('send', { to: 'a' }), finish)
  await using home = await testHostWithRecordings(script, {}, { plugins: { 'reader.ts': READER } })
  await home.write(READ)
  const run = await oneGoal(home)
  expect(home.server.requests[0]?.prompt).toContain('It rains.')
  await home.write({ 'decision.txt': 'deny', 'weather.txt': 'The sun shines.' })
  const verdict = await replayOf(home, run)
  expect(verdict, JSON.stringify(verdict)).toMatchObject({ same: true, divergence: null, notes: [] })
  expect(verdict.cycles).toBeGreaterThan(1)
  const { fork } = await home.ask('POST', `/runs/${run}/replay`, { from: 2, cycles: 1 })
  expect(await replayOf(home, fork.run_id)).toMatchObject({ same: true, divergence: null })
}, 60_000)

test('calls of one turn that a plugin reviews concurrently replay, decided by it or by people', async () => {
  const reviewer = `import { ApprovalReviewers, definePlugin } from 'svc'
export default definePlugin({ name: 'lenient', setup(svc) {
  const review = async ({ arguments: { to } }) => (to < 'c' ? { decision: 'approve' } : undefined)
  svc.add(ApprovalReviewers, { name: 'lenient', review })
} })`
  const sends = ['a', 'b', 'c', 'd', 'c', 'a'].map(to => toolCall('send', { to }))
  // Each read of the clock returns another time.
  let now = Date.now()
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => ++now)
  await using home = await testHostWithRecordings(
    numberedGoals(together(...sends), finish),
    {},
    { plugins: { 'lenient.ts': reviewer } },
  )
  const agent = await spawn(home)
  await until(async () => (await home.ask('GET', '/approvals?status=pending')).length > 1)
  for (const { approval_id } of await home.ask('GET', '/approvals?status=pending')) {
    await home.ask('POST', `/approvals/${approval_id}`, { decision: 'approve' })
  }
  await until(async () => (await goalsOf(home, agent)).some(goal => goal.status === 'completed'))
  await home.stop()
  const verdict = await replayOf(home, await runOf(home))
  clock.mockRestore()
  expect(verdict, JSON.stringify(verdict)).toMatchObject({ same: true, divergence: null, notes: [] })
}, 60_000)

test('plugin contributions that a recording lacks are computed in its replays and forks', async () => {
  const { take } = RecordedContext.prototype
  const spy = vi.spyOn(RecordedContext.prototype, 'take').mockImplementation(function (
    this: RecordedContext,
    what,
    work,
    asked,
  ) {
    return CONTRIBUTED.test(what) ? work() : take.call(this, what, work, asked)
  } as typeof take)
  const plugin = `import { definePlugin } from 'svc'
export default definePlugin({ name: 'clock', setup(svc) {
  svc.goalStrategy({ generateGoal: async () => ({ objective: \`Tell that it is \${svc.clock.ms()}\`, cost_usd: 0, tokens: 0 }) })
} })`
  await using home = await testHostWithRecordings(
    numberedGoals(look('a'), finish),
    {},
    { plugins: { 'clock.ts': plugin } },
  )
  const run = await oneGoal(home)
  spy.mockRestore()
  expect(await replayOf(home, run)).toMatchObject({ same: true, divergence: null })
  const { fork } = await home.ask('POST', `/runs/${run}/replay`, { from: 2, cycles: 3 })
  expect(await replayOf(home, fork.run_id)).toMatchObject({ same: true, divergence: null })
}, 60_000)

test('a run with tools of an MCP server replays, including tools that were listed during the run', async () => {
  await using server = await ScriptedServer.make(['echo'])
  const step = numberedGoals(toolCall('local__echo'), finish, toolCall('local__relist'), finish)
  await using home = await testHostWithRecordings(
    async request => {
      if (request.n === 3) {
        await server.lists(['echo', 'relist'])
        await home.kernel.invoke('mcp_servers.restart', { name: 'local' })
      }
      return step(request)
    },
    { mcp: { servers: { local: server.settings } } },
  )
  await home.start()
  await until(() => home.kernel.list(Toolkits).some(({ name }) => name === 'mcp_local'))
  const agent = await spawn(home)
  await until(async () => (await goalsOf(home, agent)).filter(goal => goal.status === 'completed').length >= 2)
  await home.stop()
  expect(home.server.requests.some(({ prompt }) => prompt.includes('said'))).toBe(true)
  const run = await runOf(home)
  const verdict = await replayOf(home, run)
  expect(verdict, JSON.stringify(verdict)).toMatchObject({ same: true, divergence: null, notes: [] })
})

test('replays of a run note that a plugin was reloaded or is missing, and use its current version', async () => {
  const file = (word: string) => `import { definePlugin, tool, z } from 'svc'
export default definePlugin({ name: 'cup', setup(svc) {
  const sip = tool({ name: 'sip', description: '${word}', parameters: z.object({}), execute: () => 'hot' })
  svc.toolkit({ name: 'cup', tools: [sip] })
} })`
  await using home = await testHostWithRecordings(numberedGoals(finish), {}, { plugins: { 'cup.ts': file('Sips.') } })
  await home.start()
  const agent = await spawn(home)
  await until(async () => (await goalsOf(home, agent)).some(goal => goal.status === 'completed'))
  await home.write({ 'plugins/cup.ts': file('Drinks.') })
  await home.kernel.invoke('plugins.reload', {})
  await home.stop()
  const run = await runOf(home)
  expect(await replayOf(home, run)).toMatchObject({ same: false, notes: ['the plugin cup was reloaded'] })
  // A missing plugin is noted too; a plugin added since is ignored.
  await rename(join(home.root, 'plugins/cup.ts'), join(home.root, 'plugins/mug.ts'))
  await home.write({ 'plugins/mug.ts': file('Sips.').replaceAll('cup', 'mug') })
  await home.kernel.invoke('plugins.reload', {})
  expect((await replayOf(home, run)).notes.slice(1)).toEqual([
    'the plugin cup was loaded in the recorded run, but is not available here',
  ])
})

/** Returns a plugin whose tool is in every prompt. */
const cup = (name: string) => `import { definePlugin, tool, z } from 'svc'
export default definePlugin({ name: '${name}', setup(svc) {
  const sip = tool({ name: 'sip_${name}', description: 'Sips.', parameters: z.object({}), execute: () => 'hot' })
  svc.toolkit({ name: '${name}', tools: [sip] })
} })`
const DRINKER = { 'profiles/worker.yaml': 'name: worker\nrole: Drinks.\ntoolkits: [plugins]\n' }

test('plugins that were added and removed during a run are so in its replays, also in tests', async () => {
  const steps = numberedGoals(finish, toolCall('sip_mug'), finish, finish)
  await using home = await testHostWithRecordings(
    async request => {
      const reload = () => home.kernel.invoke('plugins.reload', {})
      if (request.n === 3) {
        await home.write({ 'plugins/mug.ts': cup('mug') })
        await reload()
      }
      if (request.n === 6) {
        await rm(join(home.root, 'plugins/cup.ts'))
        await reload()
      }
      return steps(request)
    },
    {},
    { plugins: { 'cup.ts': cup('cup') } },
  )
  await home.write(DRINKER)
  await home.start()
  const agent = await spawn(home)
  await until(async () => (await goalsOf(home, agent)).filter(goal => goal.status === 'completed').length >= 3)
  await home.stop()
  const toolsOf = (n: number) => home.server.requests[n]!.body.tools?.map(({ function: { name } }) => name) ?? []
  const offered = home.server.requests.map((_, n) =>
    toolsOf(n)
      .filter(name => name.startsWith('sip_'))
      .join(),
  )
  expect([...new Set(offered)].filter(Boolean)).toEqual(['sip_cup', 'sip_cup,sip_mug', 'sip_mug'])
  const run = await runOf(home)
  const without = await replayOf(home, run)
  expect(without.notes).toEqual(['the plugin cup was loaded in the recorded run, but is not available here'])
  await home.write({ 'plugins/cup.ts': cup('cup'), 'plugins/later.ts': cup('later') })
  await home.kernel.invoke('plugins.reload', {})
  const verdict = await replayOf(home, run)
  expect(verdict, JSON.stringify(verdict)).toMatchObject({ same: true, divergence: null, notes: [] })
  await home.kernel.use(Recordings).save(run, join(home.root, 'run.svcrec'))
  const plugins = await Promise.all(
    ['mug', 'cup'].map(name => home.kernel.use(HostToken).load(join(home.root, `plugins/${name}.ts`))),
  )
  expect(await replayRecording(join(home.root, 'run.svcrec'), plugins)).toMatchObject({ same: true, notes: [] })
}, 60_000)

test("a plugin added to a fork is loaded with its imports, runs as usual and is part of the fork's replays", async () => {
  await using home = await testHostWithRecordings(numberedGoals(finish), {}, { plugins: { 'mug.ts': cup('mug') } })
  await home.write(DRINKER)
  const run = await oneGoal(home)
  await home.write({
    'more/names.ts': "export const name: string = 'mug'\n",
    'node_modules/calmness/package.json': '{ "name": "calmness", "main": "index.js" }',
    'node_modules/calmness/index.js': "module.exports = 'Be calm.'",
    'more/mug.ts': `import { definePlugin, tool, z } from 'svc'
import message from 'calmness'
import { name } from './names.ts'
export default definePlugin({ name, setup(svc) {
  svc.toolkit({ name, tools: [tool({ name: 'gulp', description: message, parameters: z.object({}), execute: () => 'hot' })] })
  svc.start(async () => {
    for (const { agent_id } of await svc.invoke('agents.list', {})) await svc.invoke('agents.nudge', { id: agent_id, message })
  }, { in: ['cli'] })
} })`,
  })
  const leave = async (run: string, from: number) => {
    const plugin = join(home.root, 'more/mug.ts')
    const asked = { run, from, plugin, cycles: 6 }
    return ((await home.kernel.invoke('recordings.replay_file', asked)) as { fork: Recording }).fork
  }
  const before = home.server.requests.length
  const fork = await leave(run, 2)
  const asked = home.server.requests.slice(before)
  const tools = asked.findLast(({ body }) => body.tools)!.body.tools!.map(tool => tool.function.name)
  expect(tools).toContain('gulp')
  expect(tools).not.toContain('sip_mug')
  expect(asked.map(({ prompt }) => prompt).join()).toContain('from the operator:\n- Be calm.')
  const verdict = await replayOf(home, fork.run_id)
  expect(verdict, JSON.stringify(verdict)).toMatchObject({ same: true, divergence: null, notes: [] })
  const second = await leave(fork.run_id, fork.steps)
  expect(await replayOf(home, second.run_id)).toMatchObject({ same: true, notes: [] })
  await rm(join(home.root, 'more'), { recursive: true })
  const { notes } = await replayOf(home, fork.run_id)
  expect(notes).toEqual([])
}, 60_000)
