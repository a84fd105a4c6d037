import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import doctor from '#interfaces/doctor/index'
import type { DoctorReport } from '#lib/doctor-check'
import type { DaemonStatus } from '#platform/daemon/contract'
import daemon from '#platform/daemon/index'
import { Toolkits } from '#tools/toolkits/contract'
import {
  freePort,
  isAlive,
  type McpTestHost,
  ScriptedServer,
  testHostWithMcp,
} from '../spec/tools/mcp-client/mcp-client-host.ts'
import { HeldClock, type TestHostOptions, tempDir, until } from '../support/index.ts'
import { httpServer } from '../support/model/http.ts'

/** Creates a test host with one scripted MCP server that offers these tools. */
async function testHostWithFaultyServer(tools: string[], settings: object = {}, options: TestHostOptions = {}) {
  const server = await ScriptedServer.make(tools)
  const home = await testHostWithMcp({ it: { ...server.settings, ...settings } }, options)
  const close = home.close.bind(home)
  return Object.assign(home, {
    script: server,
    async close() {
      await close()
      await server[Symbol.asyncDispose]()
    },
  })
}
const pidOf = async (home: McpTestHost) => (await home.server('it')).pid!
const numberIn = (answer: string) => Number(/<<<\n(\d+)/.exec(answer)![1])
const starts = async (script: ScriptedServer) =>
  (await readFile(script.file('starts'), 'utf8')).trim().split('\n').length

it('an MCP server that dies during a call is reported to the model, and is back for the next call after a pause', async () => {
  await using home = await testHostWithFaultyServer(['exit', 'echo'])
  await home.waitForTools('it')
  const answer = await home.use('it__exit')
  expect(answer).toMatch(
    /^error: the connection to the server was lost\. Whether the call took effect is unknown: check before you do it again\. Between <<</,
  )
  expect(answer).toContain('<<<\nit ended with code 3\n>>>')
  expect(await home.server('it')).toMatchObject({ state: 'waiting', error: 'it ended with code 3', pid: null })
  expect(await home.use('it__echo', { x: 1 })).toContain('{"x":1}')
  expect(await home.server('it')).toMatchObject({ state: 'connected', error: null, restarts: 1, calls: 2, failures: 1 })
})

it('an MCP server that keeps failing is retried ever later, then suspended, and comes back when it is restarted', async () => {
  const clock = new HeldClock()
  await using home = await testHostWithFaultyServer(
    ['echo', 'exit'],
    { start_timeout: 80_000, timeout: 80_000 },
    { clock, builtins: [daemon, doctor] },
  )
  await until(() => home.kernel.points.find(Toolkits, 'mcp_it'))
  const rests: number[] = []
  for (let n = 0; n < 5; n++) {
    const failed = home.use('it__exit')
    await until(async () => {
      await clock.advance(50)
      return (await home.server('it')).state === (n < 4 ? 'waiting' : 'suspended')
    })
    expect(await failed).toContain('it ended with code 3')
    rests.push(Date.parse((await home.server('it')).retry_at!) - clock.ms())
    if (n < 4) await clock.advance(rests.at(-1)!)
  }
  for (const [n, seconds] of [1, 2, 4, 8, 300].entries()) {
    expect(rests[n]! / 1000).toBeGreaterThan(seconds - 0.5)
    expect(rests[n]! / 1000).toBeLessThanOrEqual(seconds)
  }
  const before = await starts(home.script)
  expect(await home.use('it__echo')).toMatch(
    /cannot be used now: .*failed 5 times in a row; .*svc mcp-servers restart it/,
  )
  expect(await starts(home.script)).toBe(before)
  const checks = (await home.kernel.invoke('doctor.checks')) as DoctorReport[]
  expect(checks.find(({ name }) => name === 'mcp_servers')).toMatchObject({
    level: 'warn',
    message: 'it is suspended: it ended with code 3',
    remedy: 'when it is repaired: svc mcp-servers restart it',
  })
  const { problems } = (await home.kernel.invoke('daemon.status')) as DaemonStatus
  expect(problems).toEqual([expect.stringMatching(/^MCP server it is suspended .*svc mcp-servers$/)])
  expect(await home.kernel.invoke('mcp_servers.restart', { name: 'it' })).toMatchObject({ state: 'connected' })
  expect(await home.use('it__echo', { x: 2 })).toContain('{"x":2}')
})

it('an MCP server whose program or folder does not exist is reported with the reason', async () => {
  await using home = await testHostWithMcp({
    none: { command: 'no-such-program' },
    gone: { command: 'true', cwd: 'nowhere' },
  })
  await until(async () => (await home.servers()).every(({ error }) => error))
  const [gone, none] = await home.servers()
  expect(none!.error).toBe('the program does not exist or cannot be executed')
  expect(home.logged('no-such-program: not found')).not.toHaveLength(0)
  expect(gone!.error).toMatch(/^it cannot be started in .*nowhere/)
})

it('a call that times out or is cancelled is reported to the MCP server, which stays connected', async () => {
  await using home = await testHostWithFaultyServer(['hang', 'echo'], { timeout: 0.3 })
  await home.waitForTools('it')
  expect(await home.use('it__hang')).toContain('The call of the MCP server "it" did not finish within 0.3 s')
  const call = new AbortController()
  const hanging = home.use('it__hang', {}, { signal: call.signal })
  call.abort(new Error('the cycle is over'))
  expect(await hanging).toBe('error: the cycle is over')
  await until(async () => (await readFile(home.script.file('cancelled'), 'utf8').catch(() => '')).includes('0.3 s'))
  expect(await home.use('it__echo', { x: 1 })).toContain('{"x":1}')
  expect(await home.server('it')).toMatchObject({ state: 'connected', restarts: 0 })
})

it('an MCP server at an address without a listener, or one that requires a key, is reported as such', async () => {
  await using refusing = await httpServer((_, answer) => answer.writeHead(401).end('who are you?'))
  const url = `${refusing.url}/mcp`
  await using home = await testHostWithMcp({
    deaf: { url: `http://127.0.0.1:${await freePort()}/mcp` },
    keyed: { url },
    unset: { url, headers_env: { Authorization: 'NO_SUCH' } },
  })
  await until(async () => (await home.servers()).every(({ error }) => error))
  const [deaf, keyed, unset] = await home.servers()
  expect(deaf!.error).toMatch(/^fetch failed: connect ECONNREFUSED 127\.0\.0\.1:\d+$/)
  expect(keyed!.error).toMatch(/^401: .*who are you/)
  expect(unset!.error).toBe('the environment variable NO_SUCH for the header Authorization is not set')
})

it('an MCP server that never answers the first request is ended in time', async () => {
  await using server = await ScriptedServer.make(['echo'])
  const silent = { ...server.settings, args: [...server.settings.args, 'silent'], start_timeout: 0.5 }
  await using home = await testHostWithMcp({ it: silent })
  await until(async () => (await home.server('it')).error)
  expect((await home.server('it')).error).toBe('Starting the server and listing its tools did not finish within 0.5 s.')
  const [pid] = (await readFile(server.file('starts'), 'utf8')).split('\n').map(Number)
  expect(isAlive(pid!)).toBe(false)
})

it('malformed messages are ignored, an oversized one ends the MCP server, and secrets stay out of the log', async () => {
  await using server = await ScriptedServer.make(['huge', 'echo'])
  const settings = { ...server.settings, args: [...server.settings.args, 'greets'], pass_env: ['SCRIPT_TOKEN'] }
  await using home = await testHostWithMcp({ it: settings }, { env: { SCRIPT_TOKEN: 'canary-script' } })
  await home.waitForTools('it')
  expect(await home.use('it__huge')).toContain('it sent a message of more than 8 MiB')
  expect(await home.use('it__echo', { x: 1 })).toContain('{"x":1}')
  expect(home.logged('MCP server it: started red with ***')).toHaveLength(2)
  expect(JSON.stringify(home.log)).not.toContain('canary-script')
})

it('closing the host ends an MCP server with its children, even one that ignores signals', async () => {
  const home = await testHostWithFaultyServer(['child', 'stubborn'])
  await home.waitForTools('it')
  const pid = await pidOf(home)
  const child = numberIn(await home.use('it__child'))
  await home.use('it__stubborn')
  expect([pid, child].map(isAlive)).toEqual([true, true])
  await home.close()
  expect([pid, child].map(isAlive)).toEqual([false, false])
})

it('killing the process that an MCP server belongs to leaves none of its processes behind', async () => {
  await using server = await ScriptedServer.make(['child', 'stubborn'])
  await using dir = await tempDir({
    '.svc/config.yaml': `mcp: ${JSON.stringify({ servers: { it: server.settings } })}\n`,
  })
  const program = join(import.meta.dirname, 'mcp-client-daemon.ts')
  const flags = ['--conditions=svc-source', '--import', 'tsx']
  const owner = spawn(process.execPath, [...flags, program, dir.path], { stdio: ['ignore', 'pipe', 'inherit'] })
  const pids = await new Promise<number[]>((resolved, failed) => {
    owner.stdout.once('data', line => resolved(String(line).trim().split(' ').map(Number)))
    owner.once('exit', code => failed(new Error(`it ended with ${code}`)))
  })
  expect(pids.map(isAlive)).toEqual([true, true])
  owner.kill('SIGKILL')
  await until(() => !pids.some(isAlive))
})
