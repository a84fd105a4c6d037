import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import schedules from '#platform/schedules/index'
import shell from '../../../builtins/tools/toolkits/shell/index.ts'
import { type ModelServerRequest, type TestHostOptions, text, toolCall, until } from '../../support/index.ts'
import { asksForGoal, goalsOf, spawn, testHostWithModel } from '../core/models/model-host.ts'
import { hands, type ToolHost } from './tool-host.ts'

let home: ToolHost
const open = async (options: TestHostOptions = {}) => {
  home = await hands({
    builtins: [shell],
    config: { tools: { shell_allow_dev_commands: true, shell_timeout: 5 } },
    ...options,
  })
}
afterEach(() => home.close())

const start = async (script: string) => {
  const started = await home.use('shell_exec', { command: `node -e '${script}'`, background: true })
  return /as (proc-\w+)/.exec(started)?.[1] ?? started
}
const read = (process_id?: string, wait_seconds = 0) => home.use('process_output', { process_id, wait_seconds })
const stop = (process_id: string) => home.use('process_stop', { process_id })

describe('a program in the background', () => {
  it('keeps running between calls, and its output is read in parts', async () => {
    await open()
    const id = await start('console.log("up"); process.stdin.resume(); setInterval(() => {}, 1000)')
    const first = await read(id, 20)
    expect(first).toContain('up\n')
    expect(first).toContain(`[${id} is running; read more with process_output, or end it with process_stop]`)
    expect(await read(id)).toBe(`[${id} is running; read more with process_output, or end it with process_stop]`)
    expect(await read()).toMatch(new RegExp(`^${id} {2}node -e .*: running$`))
    expect(await stop(id)).toContain('ended: you stopped it')
    expect(await read()).toContain('ended: you stopped it')
  })

  it('reports its exit code, and keeps the end of its output within a limit', async () => {
    await open()
    const id = await start('for (let n = 0; n < 60000; n++) console.log("line " + n); process.exitCode = 3')
    await until(async () => (await home.use('process_output', {})).includes('exit code 3'))
    const output = await read(id)
    expect(output).toMatch(/^\[… \d+ characters before this are left out …\]/)
    expect(output).toContain('line 59999')
    expect(output).toContain(`[${id} ended with exit code 3]`)
    expect(output.length).toBeLessThan(32_000)
  })

  it('is one of at most five, and cannot be read or stopped by another agent', async () => {
    await open()
    const ids = []
    for (let n = 0; n < 5; n++) ids.push(await start('setInterval(() => {}, 1000)'))
    expect(await start('1')).toContain('5 processes are already running')
    const other = { agent_id: 'coder-2' }
    for (const name of ['process_output', 'process_stop'])
      expect(await home.use(name, { process_id: ids[0] }, other)).toContain('you have no process')
    expect(await home.use('process_output', {}, other)).toBe('[You have no background processes.]')
  })

  it('ends with the service, and a lost one is reported after a restart', async () => {
    await open()
    const id = await start('setInterval(() => {}, 1000)')
    const record = { v: 1, process_id: 'proc-lost', command: 'npm run dev', pid: 2 ** 22 + 1, started_at: 0 }
    const folder = '.svc/journals/coder-1/processes'
    await until(async () =>
      (await readdir(join(home.root, folder)).catch((): string[] => [])).some(name => name === `${id}.json`),
    )
    await home.write({ [`${folder}/proc-lost.json`]: JSON.stringify(record) })
    expect(await read()).toContain(
      'proc-lost  npm run dev  (since 1970-01-01T00:00:00.000Z): the service was restarted',
    )
    expect(await read('proc-lost')).toContain('the process no longer runs; start it again if you need it')
    const { root } = home
    await home.kernel.close()
    expect(await readdir(join(root, folder))).toEqual(['proc-lost.json'])
  })

  it('is suggested when a command exceeds its time limit', async () => {
    await open({ config: { tools: { shell_allow_dev_commands: true, shell_timeout: 0.5 } } })
    const started = await home.use('shell_exec', { command: "node -e 'setInterval(() => {}, 1000)'" })
    expect(started).toContain('[Set background if the command needs more time.]')
  })
})

describe('an agent with a program in the background', () => {
  const shellOf = (command: string) => toolCall('shell_exec', { command, background: true })
  const agent = (script: (request: ModelServerRequest) => ReturnType<typeof toolCall>) =>
    testHostWithModel(
      request => (asksForGoal(request) ? text('{"goal": "Build the thing in the yard"}') : script(request)),
      {
        builtins: [shell, schedules],
        clock: 'system',
        env: { PATH: process.env.PATH! },
        files: { 'profiles/worker.yaml': 'name: worker\nrole: builds\nmax_steps: 1\ncore: [shell]\n' },
        config: { daemon: { heartbeat: 1000 }, tools: { shell_allow_dev_commands: true } },
      },
    )

  it('is woken when the program ends, long before the next heartbeat', async () => {
    let asked = 0
    await using host = await agent(({ prompt }) => {
      if (++asked === 1) return shellOf("node -e 'setTimeout(() => console.log(1), 300)'")
      expect(prompt).toMatch(
        /Your background process proc-\w+ \(node -e .*\) has ended with exit code 0\. Read its output/,
      )
      return toolCall('finish_goal', { summary: 'It is built.' })
    })
    const id = await spawn(host)
    host.kernel.heartbeat.start()
    await until(async () => (await goalsOf(host, id))[0]?.status === 'completed')
    expect(asked).toBe(2)
  }, 30_000)

  it('has its program stopped when it is deleted', async () => {
    await using host = await agent(() => shellOf("node -e 'setInterval(() => {}, 1000)'"))
    const id = await spawn(host)
    const folder = join(host.root, '.svc/journals', id, 'processes')
    const running = () => readdir(folder).catch(() => [])
    host.kernel.heartbeat.start()
    await until(async () => (await running()).length === 1)
    await host.kernel.invoke('agents.delete', { id })
    await until(async () => (await running()).length === 0)
  }, 30_000)
})
