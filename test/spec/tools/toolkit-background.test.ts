import { existsSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { isAlive } from '#lib/is-alive'
import schedules from '#platform/schedules/index'
import shell from '../../../builtins/tools/toolkits/shell/index.ts'
import { DEV_COMMANDS } from '../../../builtins/tools/toolkits/shell/rules.ts'
import { type ModelServerRequest, type TestHostOptions, testHost, text, toolCall, until } from '../../support/index.ts'
import { AGENT_MODULES, asksForGoal, goalsOf, spawn, testHostWithModel } from '../core/models/model-host.ts'
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
const read = (process_id?: string, wait_seconds = 0, until_output = false) =>
  home.use('process_output', { process_id, wait_seconds, until_output })
const stop = (process_id: string) => home.use('process_stop', { process_id })

describe('a program in the background', () => {
  it('keeps running between calls, and its output is read in parts', async () => {
    await open()
    const id = await start('console.log("up"); process.stdin.resume(); setInterval(() => {}, 1000)')
    const first = await read(id, 20, true)
    expect(first).toContain('up\n')
    expect(first).toContain(`[${id} is running; end it with process_stop.`)
    expect(await read(id)).toMatch(new RegExp(`^\\[${id} is running; end it with process_stop\\.`))
    expect(await read()).toMatch(new RegExp(`^${id} {2}node -e .*: running$`))
    expect(await stop(id)).toContain('ended: you stopped it')
    expect(await read()).toContain('ended: you stopped it')
  })

  it('is waited for until it ends, and has the beginning and the end of a long output, also in the file', async () => {
    await open()
    const id = await start(
      'setTimeout(() => { for (let n = 0; n < 90000; n++) console.log("line " + n); process.exitCode = 3 }, 1000)',
    )
    const output = await read(id, 30)
    expect(output).toMatch(
      /^line 0\nline 1\n[\s\S]*\n\[… \d+ characters and \d+ bytes are left out here …\]\n[\s\S]*line 89999\n/,
    )
    expect(output).toContain(`[${id} ended with exit code 3]`)
    expect(output.length).toBeLessThan(12_000)
    const [, path] = /The output without \d+ bytes of its middle is in (\S+); read it with file_read/.exec(output)!
    expect(await readFile(join(home.workspace, path!), 'utf8')).toMatch(/^line 0\n[\s\S]*line 89999$/)
  })

  it('has its whole output in a file when it is too long for one result', async () => {
    await open()
    const id = await start('setTimeout(() => { for (let n = 0; n < 9000; n++) console.log("line " + n) }, 1000)')
    await until(async () => (await home.use('process_output', {})).includes('exit code 0'))
    const output = await read(id)
    expect(output).toContain('line 8999')
    const [, path] = /The full output is in (\S+); read it with file_read/.exec(output)!
    expect(await readFile(join(home.workspace, path!), 'utf8')).toMatch(/^line 0\n[\s\S]*line 8999$/)
    expect(await read(id)).toBe(`[${id} ended with exit code 0]`)
  })

  it('is reported as ended when it ends at once, also when there is no such program', async () => {
    await open({ env: { PATH: '/usr/bin:/bin' } })
    const start = (command: string) => home.use('shell_exec', { command, background: true })
    expect(await start('ls none')).toMatch(/No such file[\s\S]*\n\[proc-\w+ ended with exit code 2\]$/)
    const program = DEV_COMMANDS.find(name => !existsSync(`/usr/bin/${name}`))
    expect(await start(`${program} x`)).toMatch(
      /^\[proc-\w+ ended: ".*" was not run: this machine has no such program\]$/,
    )
  })

  it('runs where no record of it can be written', async () => {
    await open()
    const strays: unknown[] = []
    const onStray = (error: unknown) => void strays.push(error)
    process.on('unhandledRejection', onStray)
    await writeFile(join(home.root, '.svc', 'journals'), 'no folder')
    const id = await start('setInterval(() => {}, 1000)')
    expect(await stop(id)).toContain('ended: you stopped it')
    process.off('unhandledRejection', onStray)
    expect(strays).toEqual([])
    expect(home.logged('journals').length).toBeGreaterThan(0)
  })

  it('is waited for with until_output until it pauses, not only until its first output', async () => {
    await open()
    const id = await start('let n = 0; setInterval(() => ++n < 12 && process.stdout.write(n + "."), 200)')
    await home.use('process_output', { process_id: id })
    expect(await read(id, 20, true)).toContain('.10.11.\n')
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
    expect((await readdir(join(root, folder))).sort()).toEqual(['proc-lost.json', `${id}.json`].sort())
    const { pid } = JSON.parse(await readFile(join(root, folder, `${id}.json`), 'utf8')) as { pid: number }
    expect(isAlive(pid)).toBe(false)
  })

  it('leaves records of the newest twenty lost ones', async () => {
    await open()
    const folder = '.svc/journals/coder-1/processes'
    const record = (n: number) => {
      const process_id = `proc-${n}`
      const text = JSON.stringify({ v: 1, process_id, command: 'ls', pid: null, started_at: n })
      return [`${folder}/${process_id}.json`, text] as const
    }
    await home.write(Object.fromEntries(Array.from({ length: 23 }, (_, n) => record(n))))
    await home.use('shell_exec', { command: 'ls', background: true })
    await until(async () => (await readdir(join(home.root, folder))).length === 20)
    expect(await read()).not.toContain('proc-2 ')
  })

  it('is suggested when a command exceeds its time limit', async () => {
    await open({ config: { tools: { shell_allow_dev_commands: true, shell_timeout: 0.5 } } })
    const started = await home.use('shell_exec', { command: "node -e 'setInterval(() => {}, 1000)'" })
    expect(started).toContain('[Set background if the command needs more time, and leave out a pipe')
  })
})

const LOST =
  /^Background process proc-\w+ \(node .*\) has ended, because the service was restarted\. Its output is lost; start it/

describe('an agent with a program in the background', () => {
  const shellOf = (command: string) => toolCall('shell_exec', { command, background: true })
  const agent = (script: (request: ModelServerRequest) => ReturnType<typeof toolCall>, max_steps = 1, daemon = {}) =>
    testHostWithModel(
      request => (asksForGoal(request) ? text('{"goal": "Build the thing in the yard"}') : script(request)),
      {
        builtins: [shell, schedules],
        clock: 'system',
        env: { PATH: process.env.PATH! },
        files: { 'profiles/worker.yaml': `name: worker\nrole: builds\nmax_steps: ${max_steps}\ncore: [shell]\n` },
        config: { daemon: { heartbeat: 1000, ...daemon }, tools: { shell_allow_dev_commands: true } },
      },
    )

  it('starts it also by the name that models give the argument from habit', async () => {
    const command = "node -e 'setInterval(() => {}, 1000)'"
    const results: string[] = []
    await using host = await agent(({ body }) => {
      const result = body.messages.find(({ role }) => role === 'tool')?.content
      if (!result) return toolCall('shell_exec', { command, run_in_background: true })
      results.push(String(result))
      return toolCall('finish_goal', { summary: 'It runs.' })
    }, 5)
    await spawn(host)
    host.kernel.heartbeat.start()
    await until(() => results.length > 0)
    expect(results[0]).toMatch(/as proc-\w+/)
    expect(results[0]).not.toContain('Ignored')
  }, 30_000)

  it('is woken when the program ends, long before the next heartbeat', async () => {
    let asked = 0
    await using host = await agent(({ prompt }) => {
      if (++asked === 1) return shellOf("node -e 'setTimeout(() => console.log(1), 1500)'")
      expect(prompt).toMatch(
        /Notice of \S+: Background process proc-\w+ \(node -e .*\) has ended with exit code 0\. Read its output/,
      )
      return toolCall('finish_goal', { summary: 'It is built.' })
    })
    const id = await spawn(host)
    host.kernel.heartbeat.start()
    await until(async () => (await goalsOf(host, id))[0]?.status === 'completed')
    expect(asked).toBe(2)
  }, 30_000)

  it('waits for it when it says so in an answer without a call', async () => {
    let asked = 0
    const prompts: string[] = []
    await using host = await agent(({ prompt, body }) => {
      prompts.push(prompt)
      if (++asked === 1) return shellOf("node -e 'setTimeout(() => {}, 4000)'")
      if (asked === 2) return text(`I wait for ${/as (proc-\w+)/.exec(JSON.stringify(body))![1]}.`)
      return toolCall('finish_goal', { summary: 'It is built.' })
    }, 5)
    const agent_id = await spawn(host)
    host.kernel.heartbeat.start()
    await until(() => asked === 2)
    await until(async () => {
      const [goal] = (await host.kernel.invoke('goals.list', { id: agent_id })) as { waits_for: string | null }[]
      return goal?.waits_for === 'a background process of its agent to end'
    })
    await until(async () => (await goalsOf(host, agent_id))[0]?.status === 'completed')
    expect(asked).toBe(3)
    expect(prompts[1]).toContain('or answer "I wait for proc-')
    expect(prompts[2]).toMatch(/Notice of \S+: Background process proc-\w+ .* has ended with exit code 0/)
    expect(prompts[2]).not.toContain('You answered without a tool call')
  }, 30_000)

  it('waits for it when it asks for its output for longer than a call may wait', async () => {
    const prompts: string[] = []
    await using host = await agent(
      ({ prompt }) => {
        prompts.push(prompt)
        if (prompts.length === 1) return shellOf("node -e 'setTimeout(() => {}, 6000)'")
        if (prompts.length === 2) return toolCall('process_output', { wait_seconds: 600 })
        return toolCall('finish_goal', { summary: 'It is built.' })
      },
      5,
      { tool_timeout: 6 },
    )
    const agent_id = await spawn(host)
    host.kernel.heartbeat.start()
    await until(async () => {
      const [goal] = (await host.kernel.invoke('goals.list', { id: agent_id })) as { waits_for: string | null }[]
      return goal?.waits_for === 'a background process of its agent to end'
    })
    await until(async () => (await goalsOf(host, agent_id))[0]?.status === 'completed')
    expect(prompts).toHaveLength(3)
    expect(prompts[2]).toContain('Your goal waits for its end now; you get a message.')
    expect(prompts[2]).toMatch(/Notice of \S+: Background process proc-\w+ .* has ended with exit code 0/)
  }, 30_000)

  it('is not woken by an end after the goal', async () => {
    let asked = 0
    await using host = await agent(
      () =>
        ++asked === 1
          ? shellOf("node -e 'setTimeout(() => {}, 5000)'")
          : toolCall('finish_goal', { summary: 'It runs.' }),
      5,
    )
    const agent_id = await spawn(host)
    const folder = join(host.root, '.svc/journals', agent_id, 'processes')
    host.kernel.heartbeat.start()
    await until(async () => (await goalsOf(host, agent_id))[0]?.status === 'completed')
    await until(async () => (await readdir(folder)).length === 0)
    expect(await host.kernel.invoke('alarms.all', { all: true })).toEqual([])
  }, 30_000)

  it('gets no message about an end that it has read', async () => {
    let asked = 0
    const prompts: string[] = []
    await using host = await agent(({ prompt, body }) => {
      prompts.push(prompt)
      if (++asked === 1) return shellOf("node -e 'setTimeout(() => console.log(1), 1500)'")
      const id = /as (proc-\w+)/.exec(JSON.stringify(body))![1]
      if (asked === 2) return toolCall('process_output', { id, wait_seconds: 20 })
      return toolCall('finish_goal', { summary: 'It is built.' })
    }, 5)
    const agent_id = await spawn(host)
    host.kernel.heartbeat.start()
    await until(async () => (await goalsOf(host, agent_id))[0]?.status === 'completed')
    expect(prompts.join()).toContain('ended with exit code 0]')
    expect(prompts.join()).not.toContain('Notice of')
    expect(await host.kernel.invoke('alarms.all', { all: true })).toEqual([])
  }, 30_000)

  it('gets one message after a restart about a program that ended with the service', async () => {
    let asked = 0
    await using host = await agent(() =>
      ++asked === 1
        ? shellOf("node -e 'setInterval(() => {}, 1000)'")
        : toolCall('finish_goal', { summary: 'It runs.' }),
    )
    const agent_id = await spawn(host)
    const folder = join(host.root, '.svc/journals', agent_id, 'processes')
    host.kernel.heartbeat.start()
    await until(async () => (await readdir(folder).catch(() => [])).length === 1)
    await host.kernel.close()
    for (let restarts = 0; restarts < 2; restarts++) {
      await using again = await testHost({
        builtins: [...AGENT_MODULES, shell, schedules],
        root: host.root,
        clock: 'system',
        seed: 2 + restarts,
      })
      await until(async () => ((await again.kernel.invoke('alarms.all')) as unknown[]).length === 1)
      expect(await again.kernel.invoke('alarms.all')).toMatchObject([
        { agent_id, created_by: 'process', description: expect.stringMatching(LOST) },
      ])
    }
  }, 60_000)

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
