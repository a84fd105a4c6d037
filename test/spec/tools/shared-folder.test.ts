import { appendFile, readFile, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { AgentDetail } from '#core/agents/contract'
import { type Reply, type TempDir, type TestHost, tempDir, text, toolCall, until } from '../../support/index.ts'
import { asksForGoal, goalsOf, testHostWithModel } from '../core/models/model-host.ts'

let dir: TempDir
let project: string
const content = () => readFile(join(project, 'list.md'), 'utf8')
beforeEach(async () => {
  dir = await tempDir({ 'project/list.md': 'milk\n' })
  project = join(await realpath(dir.path), 'project')
})
afterEach(() => dir[Symbol.asyncDispose]())

const read = () => toolCall('file_read', { path: 'list.md' })
const write = (content: string) => toolCall('file_write', { path: 'list.md', content })
const edit = (old_text: string, new_text: string) => toolCall('file_edit', { path: 'list.md', old_text, new_text })

/** One turn of a scripted agent in its goal, given the result of the previous turn. */
type Turn = (result: string) => Reply | Promise<Reply>

/** Opens a host whose agents take the turns of their goal, and then finish. */
function hostFor(turns: Record<string, Turn[]>, root?: string) {
  const files = { 'profiles/worker.yaml': 'name: worker\nrole: keeps a list\nmax_steps: 1\n' }
  return testHostWithModel(
    async request => {
      if (asksForGoal(request)) return text('{"goal": null, "reasoning": "all is done"}')
      const [, todo] = Object.entries(turns).find(([goal]) => request.prompt.includes(goal))!
      const results = request.body.messages.filter(({ role }) => role === 'tool')
      const turn = todo[results.length]
      return turn ? turn(String(results.at(-1)?.content)) : toolCall('finish_goal', { summary: 'The list is kept.' })
    },
    { files, clock: 'system', config: { daemon: { heartbeat: 0.05, min_rest: 0.01 } }, ...(root ? { root } : {}) },
  )
}

async function give(home: TestHost, goal: string): Promise<string> {
  const { agent_id } = (await home.kernel.invoke('agents.spawn', {
    preset: 'worker',
    workspace: project,
  })) as AgentDetail
  await home.kernel.invoke('goals.add', { id: agent_id, objective: goal })
  return agent_id
}

/** Resolves when each agent has completed a goal. */
const completed = (home: TestHost, ids: readonly string[]) =>
  until(async () => {
    const goals = await Promise.all(ids.map(id => goalsOf(home, id)))
    return goals.every(([goal]) => goal?.status === 'completed')
  })

it('two agents that rewrite the same file keep the changes of each other', async () => {
  const refusals: string[] = []
  let hasRead = false
  let hasWritten = false
  const turns = {
    'Put bread on the list': [
      read,
      async () => {
        await until(() => hasRead)
        return write('milk\nbread\n')
      },
      (result: string) => {
        hasWritten = result.startsWith('Wrote')
        return read()
      },
    ],
    'Put salt on the list': [
      read,
      async () => {
        hasRead = true
        await until(() => hasWritten)
        return write('milk\nsalt\n')
      },
      (result: string) => {
        refusals.push(result)
        return read()
      },
      (result: string) => write(`${result.replace(/^\d+\t/gm, '')}\nsalt\n`),
    ],
  }
  await using home = await hostFor(turns)
  const ids = [await give(home, 'Put bread on the list'), await give(home, 'Put salt on the list')]
  home.kernel.heartbeat.start()
  await completed(home, ids)
  await home.kernel.heartbeat.stop()
  expect(refusals).toEqual([
    'Error: "list.md" was not changed: it changed on disk since you last read or wrote it; read it again with file_read, then make your change.',
  ])
  expect(await content()).toBe('milk\nbread\nsalt\n')
})

it("an agent sees the operator's change before it edits", async () => {
  const refusals: string[] = []
  const turns = {
    'Double the milk': [
      read,
      async () => {
        await appendFile(join(project, 'list.md'), 'no more milk, please\n')
        return edit('milk\n', 'milk\nmilk\n')
      },
      (result: string) => {
        refusals.push(result)
        return read()
      },
    ],
  }
  await using home = await hostFor(turns)
  const id = await give(home, 'Double the milk')
  home.kernel.heartbeat.start()
  await completed(home, [id])
  await home.kernel.heartbeat.stop()
  expect(refusals[0]).toContain('it changed on disk since you last read or wrote it')
  expect(await content()).toBe('milk\nno more milk, please\n')
})

it('after a restart an agent reads a file again before it overwrites it', async () => {
  const results: string[] = []
  const seen = (turn: () => Reply) => (result: string) => {
    results.push(result)
    return turn()
  }
  const turns = { 'Replace the list': [read, () => write('eggs\n'), seen(read), seen(() => write('eggs\n'))] }
  let id: string
  {
    await using before = await hostFor(turns, dir.path)
    id = await give(before, 'Replace the list')
    while (!(await goalsOf(before, id))[0]?.steps_completed) await before.kernel.heartbeat.step()
  }
  expect(await content()).toBe('milk\n')
  await using after = await hostFor(turns, dir.path)
  after.kernel.heartbeat.start()
  await completed(after, [id])
  await after.kernel.heartbeat.stop()
  expect(results).toEqual([expect.stringContaining('you have not read it in this goal'), '1\tmilk'])
  expect(await content()).toBe('eggs\n')
})
