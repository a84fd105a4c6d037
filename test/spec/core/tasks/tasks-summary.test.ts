import { expect, it } from 'vitest'
import {
  fault,
  type ModelServerRequest,
  type Reply,
  type TestHostOptions,
  text,
  toolCall,
} from '../../../support/index.ts'
import { asksForSummary, fact, summary, writeFiles } from '../goals/summary-host.ts'
import { spawn } from '../models/model-host.ts'
import { rows, run, taskOf, testHostWithTasks } from './tasks-host.ts'

type Transcript = { role: string; content: string; summary?: object }[]
type Summarise = (request: ModelServerRequest) => Reply

const WANTED = [1, 2, 40]
const known = ({ prompt }: ModelServerRequest) => WANTED.map(fact).filter(each => prompt.includes(each))

/** Opens a project whose agents do tasks with a model of a small context window. */
async function small(script: (request: ModelServerRequest) => Reply, window = 8_000, options: TestHostOptions = {}) {
  const home = await testHostWithTasks(script, {
    ...options,
    files: {
      'models.yaml': `models: { "openai:scripted": { context_window: ${window} } }\nprices: { "openai:scripted": { input: 1, output: 2 } }\n`,
      'profiles/worker.yaml': 'name: worker\nrole: reads\nmax_tokens: 1000\n',
    },
    config: { daemon: { max_retries: 0 }, tasks: { toolkits: ['file'] } },
    serving: { window },
  } as TestHostOptions)
  return Object.assign(home, { id: await spawn(home) })
}

/** Reads all files, and answers with the wanted facts that its prompt holds. */
function reader(files: number, summarise: Summarise = request => summary(known(request).join('\n'))) {
  let next = 1
  return (request: ModelServerRequest): Reply => {
    if (asksForSummary(request)) return summarise(request)
    return next <= files
      ? toolCall('file_read', { path: `f${next++}.txt` })
      : text(known(request).join(' ') || 'Nothing.')
  }
}

it('a long task is summarised by a model, and facts from its beginning are known at its end', async () => {
  await using home = await small(reader(250))
  await writeFiles(home.root, home.id, 250)
  const { output, task_id, session_id, cost_usd } = await run(home, home.id, 'Read all files.', { max_steps: 300 })
  expect(output).toBe(WANTED.map(fact).join(' '))
  expect(home.server.refusals).toEqual([])
  const asked = home.server.requests.filter(asksForSummary)
  expect(asked.length).toBeGreaterThan(1)
  expect(asked[1]!.prompt).toMatch(/<record>\nHistorical goal:[^<]*The colour of number 1 is/)
  // The task pays for summaries like for any other call.
  const spent = await rows<{ kind: string; cost_micros: number }>(home, 'SELECT kind, cost_micros FROM spend')
  expect(spent.filter(({ kind }) => kind === 'summary')).toHaveLength(asked.length)
  const sum = spent.reduce((all, { cost_micros }) => all + cost_micros, 0)
  expect(cost_usd).toBeCloseTo(sum / 1e6, 9)
  expect(await rows(home, 'SELECT cost_micros FROM sessions')).toEqual([{ cost_micros: sum }])
  expect(await rows(home, 'SELECT * FROM budget_reservations')).toEqual([])
  // Summaries do not count as steps.
  expect((await taskOf(home, task_id)).steps_taken).toBe(251)
  const transcript = (await home.kernel.invoke('tasks.transcript', { session_id, limit: 1000 })) as Transcript
  expect(transcript.filter(each => each.summary)).toHaveLength(asked.length)
})

it("the operator's instruction survives summaries word for word, also in a later task of a session", async () => {
  let next = 1
  await using home = await small(request => {
    if (asksForSummary(request)) return summary('')
    if (request.body.messages.at(-1)!.content!.endsWith('Say hello.')) return text('Hello.')
    return next <= 120 ? toolCall('file_read', { path: `f${next++}.txt` }) : text('Done.')
  })
  await writeFiles(home.root, home.id, 120)
  const session = { session_key: 'work', max_steps: 200 }
  await run(home, home.id, 'Say hello.', session)
  await home.clock.advance(1_000)
  const rules = Array.from({ length: 80 }, (_, n) => `Rule ${n}: never touch the file number ${n * 31}.`).join(' ')
  expect(await run(home, home.id, `Read all files. ${rules}`, session)).toMatchObject({ output: 'Done.' })
  expect(home.server.refusals).toEqual([])
  expect(home.server.requests.filter(asksForSummary).length).toBeGreaterThan(1)
  const steps = home.server.requests.filter(request => !asksForSummary(request)).slice(1)
  expect(steps.filter(({ prompt }) => !prompt.includes(rules))).toEqual([])
})

it.each(['summary', 'digest'])('the newest message of a chat follows the %s of what came before', async kind => {
  let next = 1
  await using home = await small(request => {
    if (asksForSummary(request)) return kind === 'summary' ? summary('') : fault('500')
    if (request.body.messages.at(-1)!.content!.includes('Hello')) return text('Hello.')
    return next <= 40 ? toolCall('file_read', { path: `f${next++}.txt` }) : text('Done.')
  })
  await writeFiles(home.root, home.id, 40)
  await run(home, home.id, 'Hello.', { session_key: 'k' })
  await home.clock.advance(1_000)
  await run(home, home.id, 'Read all files, please.', { session_key: 'k', max_steps: 60 })
  const { messages } = home.server.requests.at(-1)!.body
  expect(messages[1]?.content).toMatch(
    /cord of the earlier part of this conversation[\s\S]*\n\nRead all files, please\.$/,
  )
  expect(messages[1]?.content?.split('Read all files, please.')).toHaveLength(2)
  expect(home.server.refusals).toEqual([])
})

it('a digest replaces a summary that fails, and the model is not asked for one in each step', async () => {
  await using home = await small(reader(120, () => fault('500')))
  await writeFiles(home.root, home.id, 120)
  expect(await run(home, home.id, 'Read all files.', { max_steps: 200 })).toMatchObject({ status: 'completed' })
  expect(home.server.requests.filter(asksForSummary)).toHaveLength(1)
  expect(home.logged('No summary was written')[0]!.msg).toMatch(/A digest is used instead/)
  expect(home.server.refusals).toEqual([])
})

it('two tasks of a session at the same time write one summary', async () => {
  await using home = await small(request => (asksForSummary(request) ? summary('') : text('Done.')), 400_000)
  const say = (instruction: string) => run(home, home.id, instruction, { session_key: 'chat' })
  for (let n = 1; n <= 15; n++) {
    await say(`Line ${n}.`)
    await home.clock.advance(1_000)
  }
  await Promise.all([say('From one terminal.'), say('From another.')])
  const asked = home.server.requests.filter(asksForSummary)
  expect(asked).toHaveLength(1)
  await home.clock.advance(1_000)
  await say('And now?')
  expect(home.server.requests.at(-1)!.prompt).toContain('You can still use your tools. Go on from there.')
})

it.each([
  ['a small window', 8_000],
  ['a large window, beyond the exchanges that a session remembers', 400_000],
])('a chat in %s goes on, and facts from its beginning are known at its end', async (_, window) => {
  const filler = 'Nothing of note stands here. '.repeat(40)
  const reply = (request: ModelServerRequest): Reply => {
    if (asksForSummary(request)) return summary(known(request).join('\n'))
    const asks = request.body.messages.at(-1)!.content!.endsWith('What do you know?')
    return text(asks ? known(request).join(' ') || 'Nothing.' : filler)
  }
  await using home = await small(reply, window)
  const say = async (instruction: string) => {
    await home.clock.advance(1_000)
    return run(home, home.id, instruction, { session_key: 'chat' })
  }
  for (let n = 1; n <= 60; n++) await say(WANTED.includes(n) ? fact(n) : `Line ${n}. ${filler}`)
  expect((await say('What do you know?')).output).toBe(WANTED.map(fact).join(' '))
  expect(home.server.refusals).toEqual([])
  const asked = home.server.requests.filter(asksForSummary).length
  expect(asked).toBeGreaterThan(1)
  // One summary serves many exchanges.
  expect(asked).toBeLessThan(25)
})
