import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { appendFile, mkdir, readdir, readFile, realpath, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { AgentDetail } from '#core/agents/contract'
import sessions from '#core/sessions/index'
import type { ChangesUndone, FolderChange, FolderChangeDetail } from '#core/snapshots/contract'
import snapshots from '#core/snapshots/index'
import { Snapshots } from '#core/snapshots/snapshots'
import tasks from '#core/tasks/index'
import { definePlugin, type PluginHandle } from '#kernel'
import { Retention } from '#platform/retention/contract'
import retention from '#platform/retention/index'
import shell from '#tools/toolkits/shell/index'
import { runHeartbeat, type TempDir, tempDir, text, toolCall, until } from '../../../support/index.ts'
import { asksForGoal, goalsOf, testHostWithModel } from '../models/model-host.ts'

const hasWall = existsSync('/usr/bin/bwrap')
const README = 'one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\neleven\ntwelve\n'

type Answer = ReturnType<typeof text>
type Step = Answer | (() => Promise<Answer>)

let home: Awaited<ReturnType<typeof testHostWithModel>>
let given: TempDir
let handle: PluginHandle
let folder: string
/** The model's answers while it works; afterwards it finishes. */
let answers: Step[]

const at = (name: string) => join(folder, name)
const read = (name: string) => readFile(at(name), 'utf8')
const write = (path: string, content: string) => toolCall('file_write', { path, content })
const edit = (path: string, old_text: string, new_text: string) => toolCall('file_edit', { path, old_text, new_text })
const probe = definePlugin({
  name: 'probe',
  setup(svc) {
    handle = svc
  },
})
const open = async (sandbox = hasWall ? 'auto' : 'off') => {
  home = await testHostWithModel(
    request => {
      if (asksForGoal(request)) return text('{"goal": null}')
      const step = answers.shift() ?? toolCall('finish_goal', { summary: 'done', evidence: 'checked' })
      return typeof step === 'function' ? step() : step
    },
    {
      builtins: [snapshots, shell, sessions, tasks, retention, probe],
      files: { 'profiles/worker.yaml': 'name: worker\nrole: works\nown_goals: false\n' },
      config: { tools: { sandbox } },
      env: { PATH: process.env.PATH! },
    },
  )
  home.kernel.heartbeat.start()
}
const spawn = async (input: Record<string, unknown> = {}) =>
  ((await home.kernel.invoke('agents.spawn', { preset: 'worker', workspace: folder, ...input })) as AgentDetail)
    .agent_id
const list = (id: string) => home.kernel.invoke('snapshots.list', { id }) as Promise<FolderChange[]>
const show = (id: string, change?: string) =>
  home.kernel.invoke('snapshots.show', { id, ...(change ? { change } : {}) }) as Promise<FolderChangeDetail>
const undo = (id: string, change?: string) =>
  home.kernel.invoke('snapshots.undo', { id, ...(change ? { change } : {}) }) as Promise<ChangesUndone>
const redo = (id: string) => home.kernel.invoke('snapshots.redo', { id }) as Promise<ChangesUndone>
const paths = ({ changed }: FolderChangeDetail) => changed.map(({ path, status }) => `${status} ${path}`).sort()

/** Has the agent pursue a goal with these answers to its end, and returns the goal's id. */
async function pursue(id: string, objective: string, ...steps: Step[]): Promise<string> {
  answers = steps
  const { goal_id } = (await home.kernel.invoke('goals.add', { id, objective })) as { goal_id: string }
  const isEnded = async () => {
    await runHeartbeat(home)
    const goals = await goalsOf(home, id)
    return goals.every(goal => goal.goal_id !== goal_id || goal.status === 'completed')
  }
  await until(isEnded)
  await until(async () => (await list(id)).every(({ ended_at }) => ended_at !== null))
  return goal_id
}

beforeEach(async () => {
  given = await tempDir({ 'work/README.md': README, 'work/src/main.ts': 'one\r\n', 'work/.gitignore': 'out/\n' })
  folder = join(await realpath(given.path), 'work')
})
afterEach(async () => {
  await home.close()
  await given[Symbol.asyncDispose]()
})

describe.each(hasWall ? ['auto', 'off'] : ['off'])('changes in a given folder, with tools.sandbox %s', sandbox => {
  beforeEach(() => open(sandbox))

  it('are shown by goal and undone, whichever tool made them', async () => {
    const id = await spawn()
    const goal_id = await pursue(
      id,
      'Improve the texts',
      toolCall('file_read', { path: 'README.md' }),
      edit('README.md', 'two', 'zwei'),
      write('src/new.ts', 'new\r\n'),
      toolCall('shell_exec', { command: 'rm src/main.ts' }),
      write('out/built.js', 'built'),
    )
    expect(await list(id)).toMatchObject([{ goal_id, subject: 'Improve the texts', folder, files: 3, undone_at: null }])
    const shown = await show(id)
    expect(paths(shown)).toEqual(['added src/new.ts', 'changed README.md', 'removed src/main.ts'])
    expect(shown.patch).toContain('-two\n+zwei')

    expect(await undo(id, goal_id)).toMatchObject({ folder, redone: false })
    expect(await read('README.md')).toBe(README)
    expect(await read('src/main.ts')).toBe('one\r\n')
    expect(existsSync(at('src/new.ts'))).toBe(false)
    expect(await read('out/built.js')).toBe('built')
    await expect(undo(id, goal_id)).rejects.toThrow(/was undone already/)

    await redo(id)
    expect(await read('README.md')).toContain('zwei')
    expect(await read('src/new.ts')).toBe('new\r\n')
    expect(existsSync(at('src/main.ts'))).toBe(false)
    expect(existsSync(at('.git'))).toBe(false)
  })
})

describe('changes in a given folder', () => {
  beforeEach(() => open())

  it('are undone beside later changes of others, and in no file if the same lines changed since', async () => {
    const id = await spawn()
    await pursue(id, 'First', edit('README.md', 'two', 'zwei'), write('a.md', 'a\n'))
    await pursue(id, 'Second', edit('README.md', 'twelve', 'zwölf'))
    await writeFile(at('README.md'), (await read('README.md')).replace('seven', 'sept'))
    const [second, first] = await list(id)
    await undo(id, first!.change_id)
    expect(await read('README.md')).toBe(README.replace('twelve', 'zwölf').replace('seven', 'sept'))
    await redo(id)

    await writeFile(at('README.md'), (await read('README.md')).replace('zwei', 'deux'))
    await expect(undo(id, first!.change_id)).rejects.toMatchObject({ code: 'undo_conflict', status: 409 })
    await expect(undo(id, first!.change_id)).rejects.toThrow(/No file was changed: .* in README\.md of /)
    expect(existsSync(at('a.md'))).toBe(true)
    expect((await undo(id)).change_id).toBe(second!.change_id)
    expect((await redo(id)).change_id).toBe(second!.change_id)
  })

  it('are undone from the newest back, and made again from the last undone on', async () => {
    const id = await spawn()
    const goals = [await pursue(id, 'First', write('a.md', 'a\n')), await pursue(id, 'Second', write('b.md', 'b\n'))]
    const changes = await list(id)
    const [first, second] = goals.map(goal_id => changes.find(each => each.goal_id === goal_id)!.change_id)
    const order: string[] = []
    for (const step of [undo, undo, redo, redo]) {
      order.push((await step(id)).change_id)
      await home.clock.advance(1)
    }
    expect(order).toEqual([second, first, first, second])
    await expect(redo(id)).rejects.toThrow(/was not undone/)
  })

  it('of a goal in progress are shown as they are now, and what follows an undo is another change', async () => {
    const id = await spawn()
    let shown: FolderChangeDetail | undefined
    const look = async () => {
      shown = await show(id)
      await undo(id)
      return write('b.md', 'b\n')
    }
    await pursue(id, 'Write texts', write('a.md', 'a\n'), look)
    expect(shown).toMatchObject({ ended_at: null, changed: [{ path: 'a.md', status: 'added' }] })
    expect(existsSync(at('a.md'))).toBe(false)
    const [kept, undone] = (await list(id)).sort(one => (one.undone_at === null ? -1 : 1))
    expect(undone).toMatchObject({ files: 1, undone_at: expect.any(String) })
    expect(paths(await show(id, kept!.change_id))).toEqual(['added b.md'])
  })

  it('of a task are undone like those of a goal', async () => {
    const id = await spawn()
    answers = [write('a.md', 'a\n'), text('It is written.')]
    await home.kernel.invoke('tasks.run', { id, instruction: 'Write a text', toolkits: ['file'] })
    await until(async () => (await list(id))[0]?.ended_at)
    expect(await list(id)).toMatchObject([{ goal_id: null, subject: 'Write a text', files: 1 }])
    await undo(id)
    expect(existsSync(at('a.md'))).toBe(false)
  })

  it('are not recorded where nothing changed, nor in read-only folders and the own one', async () => {
    const id = await spawn()
    await pursue(id, 'Look', toolCall('shell_exec', { command: 'ls' }))
    expect(await list(id)).toEqual([])
    await expect(undo(id)).rejects.toThrow(/changed nothing in folders that you gave it/)
    const reader = await spawn({ workspace: `${folder}:ro` })
    await pursue(reader, 'Write', write('a.md', 'a\n'))
    const own = await spawn({ workspace: undefined })
    await pursue(own, 'Write', write('a.md', 'a\n'))
    expect([...(await list(reader)), ...(await list(own))]).toEqual([])
  })

  it('that are too large for a snapshot are named, and the agent works on', async () => {
    await mkdir(at('data'))
    for (let n = 0; n < 25; n++) await writeFile(at(`data/${n}`), Buffer.alloc(9_000_000, n))
    const id = await spawn()
    await pursue(id, 'Write', write('a.md', 'a\n'))
    expect(await read('a.md')).toBe('a\n')
    expect(await list(id)).toMatchObject([{ problem: expect.stringContaining('more than 200 MB'), files: null }])
    await expect(undo(id)).rejects.toThrow(/has no snapshot \(No snapshot of .*more than 200 MB/)
  })

  it('leave the state of a project, packages and large files out, and do not touch a repository of the folder', async () => {
    execFileSync('git', ['-C', folder, 'init', '-q'])
    const before = await readdir(at('.git'))
    await mkdir(at('.svc'))
    await mkdir(at('node_modules/left'), { recursive: true })
    await writeFile(at('large.bin'), Buffer.alloc(11_000_000))
    const id = await spawn()
    await pursue(
      id,
      'Write',
      write('a.md', 'a\n'),
      write('node_modules/left/pad.js', 'pad\n'),
      toolCall('shell_exec', { command: 'cp a.md large.bin' }),
    )
    await writeFile(at('.svc/state'), 'state')
    expect(paths(await show(id))).toEqual(['added a.md', 'added large.bin'])
    expect(await readdir(at('.git'))).toEqual(before)
  })

  it('are noticed too if they follow a snapshot within a second and leave the size of a file', async () => {
    const taken = new Snapshots(handle)
    const second = Math.floor(Date.now() / 1_000) - 60
    await writeFile(at('a.md'), 'one')
    await utimes(at('a.md'), second, second)
    const before = await taken.take(folder)
    // As if the file and the index were written within this second.
    const [name] = await readdir(join(home.root, '.svc/snapshots'))
    const repository = join(home.root, '.svc/snapshots', name!)
    await utimes(join(repository, 'index'), second, second)
    await appendFile(join(repository, 'config'), '[core]\n\ttrustctime = false\n')
    await writeFile(at('a.md'), 'two')
    await utimes(at('a.md'), second, second)
    expect(await taken.take(folder)).not.toBe(before)
  })

  it('are forgotten after two weeks, with their snapshots', async () => {
    const id = await spawn()
    await pursue(id, 'Write', write('a.md', 'a\n'))
    const kept = join(home.root, '.svc/snapshots')
    expect(await readdir(kept)).toHaveLength(1)
    await home.kernel.heartbeat.stop()
    home.clock.jump(15 * 24 * 3_600_000)
    await home.kernel.use(Retention).run()
    expect(await list(id)).toEqual([])
    expect(await readdir(kept)).toEqual([])
    await rm(at('a.md'))
  })
})
