import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Memory } from '#core/memory/contract'
import memory from '#core/memory/index'
import { Runs } from '#observability/runs/contract'
import runs from '#observability/runs/index'
import knowledge from '#tools/toolkits/knowledge/index'
import values from '#tools/toolkits/memory/index'
import { ON_POSTGRES, textBehind } from '../../../support/direct-access.ts'
import { runHeartbeat, type TestHost, text, toolCall } from '../../../support/index.ts'
import { use } from '../../use.ts'
import { asksForGoal, goalsOf, spawn, testHostWithModel } from '../models/model-host.ts'
import { remembering } from './memory-host.ts'

const plain = { config: { memory: { unified: false } } }
const json = async (home: TestHost, path: string) => JSON.parse(await textBehind(home.root, path))
const idIn = (said: string) => /mem-\w+/.exec(said)?.[0] ?? ''

describe('plain memory (memory.unified: false)', () => {
  it('keeps notes as plain JSON, which the same tools find, list, read, change and remove', async () => {
    await using home = await remembering([knowledge, values], plain)
    const call = { call_id: 'worker-1:7:2:0', goal_id: 'goal-1' }
    const saved = await use(home, 'save_note', { content: 'The kiln needs 1,240 degrees', tags: 'pottery' }, call)
    expect(await use(home, 'save_note', { content: 'The kiln needs 1,240 degrees', tags: 'pottery' }, call)).toBe(saved)
    await use(home, 'save_note', { content: 'Glazes crawl on dusty clay' })
    await use(home, 'memory_set', { key: 'kiln', value: 'the red one' })
    const note_id = idIn(saved)
    expect(await json(home, 'memory/worker-1/notes.json')).toMatchObject({
      [note_id]: { thought: 'The kiln needs 1,240 degrees', metadata: { kind: 'note', goal_id: 'goal-1' } },
    })
    expect(await json(home, 'agent_memory/worker-1.json')).toEqual({ kiln: 'the red one' })
    expect(await home.kernel.use(Memory).of('worker-1').count()).toBe(0)

    const found = await use(home, 'search_notes', { query: 'kiln' })
    expect(found).toContain(note_id)
    expect(found).not.toContain('the red one')
    expect(await use(home, 'list_recent_notes')).toMatch(/Glazes crawl.*\n.*The kiln needs/)
    expect(await use(home, 'list_recent_notes', { limit: 1 })).toMatch(/Glazes.*\n\[See older notes with offset=1\.\]$/)
    await use(home, 'update_note', { note_id, content: 'The kiln is sold' })
    await using again = await remembering([knowledge], { ...plain, root: home.root })
    expect(await use(again, 'read_note', { note_id })).toBe('The kiln is sold')
    expect(await use(again, 'search_notes', { query: 'degrees' })).toContain('Nothing that you remember')
    expect(await use(again, 'delete_note', { note_id })).toContain('is removed')
    expect(await use(again, 'read_note', { note_id })).toContain('There is no note')
    expect(await use(again, 'list_recent_notes', {}, { agent_id: 'worker-2' })).toBe('[You have no notes yet.]')
  })

  it('lets pursuits recall the results of goals, but neither notes nor values', async () => {
    const goals = ['Fire the kiln to its highest temperature', 'Describe the kiln at its highest temperature']
    const answer = (request: Parameters<typeof asksForGoal>[0]) => {
      if (!asksForGoal(request)) return toolCall('finish_goal', { summary: 'The kiln is fired', evidence: [] })
      const objective = goals.shift()
      return objective ? text(JSON.stringify({ goal: objective })) : text('Nothing to do.')
    }
    await using home = await testHostWithModel(answer, { ...plain, builtins: [memory, knowledge, values] })
    const agent_id = await spawn(home)
    await use(home, 'save_note', { content: 'A note on the highest temperature of the kiln' }, { agent_id })
    await use(home, 'memory_set', { key: 'kiln', value: 'highest temperature 1,240' }, { agent_id })
    home.kernel.heartbeat.start()
    const completedGoals = async () =>
      (await goalsOf(home, agent_id)).filter(({ status }) => status === 'completed').length
    for (let beats = 0; beats < 20 && (await completedGoals()) < 2; beats++) await runHeartbeat(home)
    expect(await completedGoals()).toBe(2)
    const pursuits = home.server.requests.filter(request => !asksForGoal(request)).map(({ prompt }) => prompt)
    expect(pursuits[0]).not.toContain('[memories]')
    expect(pursuits[1]).toContain('- Completed: Fire the kiln')
    expect(pursuits.join()).not.toMatch(/1,240|A note on/)
  })

  it('ends when unified memory is switched on: notes and values are taken over once, notes with their dates', async () => {
    await using home = await remembering([knowledge, values], plain)
    const note_id = idIn(await use(home, 'save_note', { content: 'The kiln needs 1,240 degrees' }))
    await use(home, 'memory_set', { key: 'colour', value: 'blue' })
    const { ts } = (await json(home, 'memory/worker-1/notes.json'))[note_id]
    await using again = await remembering([knowledge, values], { root: home.root, config: 'memory: { unified: true }' })
    const records = again.kernel.use(Memory).of('worker-1')
    expect(await records.peek(note_id)).toMatchObject({ thought: 'The kiln needs 1,240 degrees', ts })
    expect(await use(again, 'memory_get', { key: 'colour' })).toBe('blue')
    expect(await use(again, 'delete_note', { note_id })).toContain('is removed')
    await using third = await remembering([knowledge, values], { root: home.root })
    expect(await use(third, 'read_note', { note_id })).toContain('There is no note')
  })

  it.skipIf(ON_POSTGRES)('sets a notes file aside that cannot be read', async () => {
    const files = { '.svc/memory/worker-1/notes.json': '{"mem-1":' }
    await using home = await remembering([knowledge], { ...plain, files })
    await use(home, 'save_note', { content: 'a new beginning' })
    expect(await use(home, 'list_recent_notes')).toContain('a new beginning')
    expect(await readFile(join(home.root, '.svc/memory/worker-1/notes.json.corrupt'), 'utf8')).toBe('{"mem-1":')
  })
})

it('what tools store in a pursuit carries its goal, its run and its tool', async () => {
  const steps = [
    toolCall('save_note', { content: 'a note' }),
    toolCall('memory_set', { key: 'k', value: 'v' }),
    toolCall('finish_goal', { summary: 'done', evidence: ['x'] }),
  ]
  const answer = (request: Parameters<typeof asksForGoal>[0]) =>
    asksForGoal(request)
      ? text(JSON.stringify({ goal: steps.length > 0 ? 'Take notes' : null }))
      : (steps.shift() ?? text('Nothing to do.'))
  await using home = await testHostWithModel(answer, { builtins: [memory, runs, knowledge, values] })
  const agent_id = await spawn(home)
  const run_id = await home.kernel.use(Runs).begin('daemon')
  home.kernel.heartbeat.start()
  const records = home.kernel.use(Memory).of(agent_id)
  for (let beats = 0; beats < 10 && (await records.count()) < 3; beats++) await runHeartbeat(home)
  const [goal] = await goalsOf(home, agent_id)
  const kept = (await records.recent()).map(({ metadata }) => metadata)
  const from = { goal_id: goal?.goal_id, run_id }
  expect(kept).toMatchObject([
    { kind: 'goal', ...from },
    { kind: 'kv', ...from, tool: 'memory_set' },
    { kind: 'note', ...from, tool: 'save_note' },
  ])
})
