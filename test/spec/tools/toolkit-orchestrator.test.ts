import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { Toolkits } from '#tools/toolkits/contract'
import orchestrator from '#tools/toolkits/orchestrator/index'
import { tempDir, until } from '../../support/index.ts'
import { AGENT_MODULES, spawn, WORKER } from '../core/models/model-host.ts'
import { hands, type ToolHost } from './tool-host.ts'

/** Coding program that prints its arguments, input and environment, and does the task. */
const CLI = `#!/bin/sh
task=$(cat)
echo "args: $*"
echo "task: $task"
env | sort | sed 's/^/env: /'
cat "$HOME/.claude/login" 2>/dev/null
case "$task" in
  *wait*) echo $$ > pid; sleep 600 & sleep 600 ;;
  *fail*) exit 3 ;;
  *long*) seq 1 20000 ;;
  *) echo made > made.txt ;;
esac
`
const hasWall = existsSync('/usr/bin/bwrap')

let home: ToolHost
afterEach(() => home.close())

async function open(options: { tools?: Record<string, unknown>; programs?: string[]; root?: string } = {}) {
  const { tools = {}, programs = ['claude'], root } = options
  const machine = await tempDir({ 'home/.claude/login': 'the login\n', 'home/secret.txt': 'a secret of the home\n' })
  await mkdir(join(machine.path, 'bin'))
  for (const name of programs) {
    await writeFile(join(machine.path, 'bin', name), CLI)
    await chmod(join(machine.path, 'bin', name), 0o755)
  }
  home = await hands({
    builtins: [...AGENT_MODULES, orchestrator],
    roles: ['server'],
    files: { 'profiles/worker.yaml': WORKER },
    config: { tools },
    ...(root ? { root } : {}),
    env: {
      PATH: `${join(machine.path, 'bin')}:${process.env.PATH}`,
      HOME: join(machine.path, 'home'),
      ANTHROPIC_API_KEY: 'canary-anthropic',
      OPENAI_API_KEY: 'canary-openai',
    },
  })
  const close = home.close.bind(home)
  home.close = async () => {
    await close()
    await machine[Symbol.asyncDispose]()
  }
}
const idOf = (answer: string) => /code-\w+/.exec(answer)![0]
const isAlive = async () => {
  const pid = Number(await readFile(join(home.workspace, 'pid'), 'utf8').catch(() => '0'))
  return pid > 0
}
const sleepers = () =>
  execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })
    .split('\n')
    .filter(line => line === 'sleep 600').length

it('code tasks are offered only when a coding program is installed', async () => {
  await open({ programs: [] })
  expect(home.kernel.points.find(Toolkits, 'orchestrator')).toBeUndefined()
  await home.close()
  await open({ programs: ['codex'] })
  const { tools } = home.kernel.points.find(Toolkits, 'orchestrator')!
  expect(tools.map(({ name }) => name)).toEqual([
    'run_code_task',
    'check_task_status',
    'list_code_tasks',
    'review_task_output',
  ])
  expect(tools[0]).toMatchObject({ requires_approval: true, danger: 'runs a coding program with your login' })
  expect(await home.use('run_code_task', { task: 'Do it', cli_tool: 'claude' })).toMatch(/must be codex/)
  expect(await home.use('run_code_task', { task: '--help', model: '-x' })).toMatch(/must /)
})

it.each(hasWall ? ['auto', 'off'] : ['off'])(
  'a coding program works in a folder of the workspace, with the sandbox %s',
  async sandbox => {
    await open({ tools: { sandbox } })
    await mkdir(join(home.workspace, 'project'))
    const answer = await home.use('run_code_task', { task: '--version; make it', workspace: 'project', model: 'opus' })
    expect(answer).toMatch(/^code-\w+: completed · claude in project · \d s · --version; make it\n/)
    expect(answer).toContain('args: -p --permission-mode acceptEdits --model opus\ntask: --version; make it\n')
    expect(answer).toContain('the login')
    expect(answer).not.toContain('canary')
    expect(await readFile(join(home.workspace, 'project/made.txt'), 'utf8')).toBe('made\n')
    expect(await home.use('check_task_status', { task_id: idOf(answer) })).toContain(': completed')
    expect(await home.use('review_task_output', { task_id: idOf(answer) })).toContain('[exit code 0]')
    expect(await home.use('run_code_task', { task: 'fail' })).toMatch(/: failed · [\s\S]*\[exit code 3\]/)
    const list = await home.use('list_code_tasks')
    expect(list.split('\n')).toMatchObject([expect.stringContaining('failed'), expect.stringContaining('completed')])
  },
)

it('a coding program gets a key only when the operator names the variable', async () => {
  await open({ tools: { code_pass_env: ['ANTHROPIC_API_KEY'] } })
  const answer = await home.use('run_code_task', { task: 'x' })
  expect(answer).toContain('canary-anthropic')
  expect(answer).not.toContain('canary-openai')
})

it('code tasks keep to the workspace, and are visible only to their agent', async () => {
  await open()
  expect(await home.use('run_code_task', { task: 'x', workspace: '../..' })).toContain('lies outside your workspace')
  expect(await home.use('run_code_task', { task: 'x', workspace: 'none' })).toContain(
    'is not a folder of your workspace',
  )
  expect(await home.use('list_code_tasks')).toBe('[There are no code tasks.]')
  const id = idOf(await home.use('run_code_task', { task: 'x' }))
  for (const task_id of ['code-none', '../../x', `../../coder-1/code-tasks/${id}`]) {
    expect(await home.use('check_task_status', { task_id })).toContain('There is no code task')
  }
  expect(await home.use('check_task_status', { task_id: id }, { agent_id: 'other-1' })).toContain(
    'There is no code task',
  )
  const folder = join(home.root, '.svc/journals/coder-1/code-tasks')
  expect((await readdir(folder)).sort()).toEqual([`${id}.json`, `${id}.txt`])
  expect((await stat(join(folder, `${id}.json`))).mode & 0o777).toBe(0o600)
})

it('a long output of a code task is read in parts that together are complete', async () => {
  await open()
  const id = idOf(await home.use('run_code_task', { task: 'long' }))
  let seen = ''
  for (let offset = 0; ; ) {
    const answer = await home.use('review_task_output', { task_id: id, offset })
    expect(answer.length).toBeLessThan(9000)
    seen += answer
      .split('\n')
      .slice(1)
      .join('\n')
      .replace(/\n\[\d+ more characters.*$/, '')
    const next = /offset=(\d+)/.exec(answer)
    if (!next) break
    offset = Number(next[1])
  }
  expect(seen).toContain('\n12345\n')
  expect(seen).toMatch(/\n20000\n\[exit code 0\]$/)
})

describe('a background code task', () => {
  it('outlives its call, counts towards the maximum, and is ended with its children when the service stops', async () => {
    await open({ tools: { code_max_tasks: 1 } })
    const call = new AbortController()
    const before = sleepers()
    const answer = home.use('run_code_task', { task: 'wait' }, { signal: call.signal })
    await until(isAlive)
    await until(() => sleepers() === before + 2)
    call.abort(new Error('the tool call is over'))
    expect(await answer).toMatch(/: running · [\s\S]*call check_task_status later/)
    const id = idOf(await answer)
    expect(await home.use('check_task_status', { task_id: id })).toContain(': running')
    expect(await home.use('review_task_output', { task_id: id })).toContain(
      'output is available after the task has ended',
    )
    expect(await home.use('run_code_task', { task: 'x' })).toContain('At most 1 code task may run at a time')
    const file = join(home.root, '.svc/journals/coder-1/code-tasks', `${id}.json`)
    await home.kernel.close()
    expect(sleepers()).toBe(before)
    expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({
      status: 'failed',
      reason: 'the service was stopped',
    })
  })

  it('is ended with its children when its agent is deleted', async () => {
    await open()
    const before = sleepers()
    const agent_id = await spawn(home)
    const call = new AbortController()
    const answer = home.use('run_code_task', { task: 'wait' }, { agent_id, signal: call.signal })
    await until(() => sleepers() === before + 2)
    await home.kernel.invoke('agents.delete', { id: agent_id })
    await until(() => sleepers() === before)
    expect(await answer).toMatch(/failed|running/)
  })

  it('is ended at its time limit, and says so', async () => {
    await open({ tools: { code_timeout: 0.5 } })
    const before = sleepers()
    expect(await home.use('run_code_task', { task: 'wait' })).toMatch(/: timeout \(it took longer than 0.5 s\)/)
    expect(sleepers()).toBe(before)
  })

  it('is shown as lost, not as running, when a killed service left it behind', async () => {
    const dir = await tempDir()
    const gone = Number(execFileSync('sh', ['-c', 'echo $$']).toString())
    const record = {
      v: 1,
      task_id: 'code-0a',
      agent_id: 'coder-1',
      program: 'claude',
      model: null,
      task: 'x',
      folder: '.',
      status: 'running',
      reason: null,
      started_at: 1,
      ended_at: null,
      watched_by: gone,
    }
    await dir.write({ '.svc/journals/coder-1/code-tasks/code-0a.json': JSON.stringify(record) })
    await open({ root: dir.path })
    expect(await home.use('check_task_status', { task_id: 'code-0a' })).toContain(
      'lost (the process that ran it has ended)',
    )
    await dir[Symbol.asyncDispose]()
  })
})
