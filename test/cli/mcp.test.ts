import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { describe, expect, it } from 'vitest'
import { connectClient, toolAnswer } from '../interfaces/mcp/mcp-client.ts'
import { bareEnvironment } from '../support/cli.ts'
import { tempDir, until } from '../support/index.ts'
import { modelServer, type Reply } from '../support/model/model-server.ts'
import { svc } from '../support/vitest/warm.ts'
import { FAST, project } from './project.ts'

const PROGRAM = fileURLToPath(new URL('../../dist/svc.js', import.meta.url))
const BARE = { ...(bareEnvironment() as Record<string, string>) }

/** Transport that runs the command for the official client. */
const overStdio = (cwd: string) =>
  new StdioClientTransport({ command: process.execPath, args: [PROGRAM, 'mcp'], cwd, env: BARE, stderr: 'ignore' })

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 'first',
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
}
const call = (id: number, name: string, input = {}) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: input },
})

const EXTRA = `import { definePlugin, z } from 'svc'

export default definePlugin({
  name: 'extra',
  setup(svc) {
    const shape = { name: 'extra.hello', summary: 'Say hello', input: z.object({}), output: z.object({ text: z.string() }) }
    svc.operation({ ...shape, mcp: true, run: async () => ({ text: 'hello' }) })
  },
})
`

interface Message {
  jsonrpc: string
  id?: unknown
  method?: string
  // biome-ignore lint/suspicious/noExplicitAny: what a test expects of it is its own business.
  result?: any
  error?: { code: number; message: string }
}

/** Runs the command with bare pipes; parses each line of standard output as a message. */
class Raw {
  readonly process: ChildProcess
  readonly ended: Promise<unknown>
  readonly messages: Message[] = []
  readonly #lines: Interface
  stderr = ''

  constructor(cwd: string) {
    this.process = spawn(process.execPath, [PROGRAM, 'mcp'], { cwd, env: BARE, stdio: ['pipe', 'pipe', 'pipe'] })
    this.#lines = createInterface(this.process.stdout!)
    this.#lines.on('line', line => void this.messages.push(JSON.parse(line) as Message))
    this.process.stderr!.setEncoding('utf8').on('data', text => {
      this.stderr += text
    })
    this.ended = once(this.process, 'close').then(([code]) => code)
  }

  send(...messages: readonly (object | string)[]): void {
    for (const each of messages)
      this.process.stdin!.write(`${typeof each === 'string' ? each : JSON.stringify(each)}\n`)
  }

  async answer(id: unknown): Promise<Message> {
    for (;;) {
      const found = this.messages.find(message => message.id === id)
      if (found) return found
      await once(this.#lines, 'line')
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.process.exitCode === null && this.process.signalCode === null) this.process.kill('SIGKILL')
    await this.ended
  }
}

/** Creates a promise and the function that resolves it. */
function oneTime(): { fired: Promise<void>; fire: () => void } {
  let fire = () => {}
  const fired = new Promise<void>(resolve => {
    fire = resolve
  })
  return { fired, fire }
}

const LOUD = `import { definePlugin, z } from 'svc'
console.log('loud at load')
process.stdout.write('and without a newline')
export default definePlugin({ name: 'loud', setup(svc) {
  console.info('loud in setup')
  svc.operation({ name: 'shout', summary: 'Shouts', input: z.object({}), output: z.string(), mcp: true,
    run() { console.log({ loud: 'in a tool' }); process.stdout.write('{"jsonrpc":"2.0"}\\n'); return 'quiet' } })
} })`

describe('svc mcp', () => {
  it('takes the official client from an empty folder to a running daemon and back', async () => {
    await using dir = await tempDir()
    const { client, call, notified } = await connectClient(overStdio(dir.path))
    // The daemon outlives the client, but must not outlive a failed test.
    await using _daemon = { [Symbol.asyncDispose]: async () => void (await svc(['stop'], { cwd: dir.path })) }
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['svc_init'])
    await expect(client.callTool({ name: 'svc_status' })).rejects.toThrow(
      'There is no tool "svc_status"; there are: svc_init',
    )
    expect(client.getInstructions()).toContain('If svc_init is the only tool')
    expect((await call('svc_init')).text).toContain(`Project: ${dir.path}`)
    expect(notified).toContain('tools')
    const names = (await client.listTools()).tools.map(({ name }) => name)
    const known = ['init', 'start', 'stop', 'status', 'spawn', 'kill', 'nudge', 'logs', 'models']
    expect(names).toEqual(expect.arrayContaining(known.map(name => `svc_${name}`)))
    await expect(client.callTool({ name: 'goals_gett' })).rejects.toThrow('did you mean "goals_get"')

    const { agent_id } = (await call('svc_spawn', { profile: 'coder' })).output
    expect((await call('svc_start', { profiles: 'coder,writer', heartbeat: 0.2 })).text).toMatch(/^Daemon: +PID \d+/m)
    expect((await call('svc_start', { profiles: 'tester' })).text).toContain('The daemon is already running')
    const { running, heartbeat_s, pid } = (await call('daemon_status')).output
    expect({ running, heartbeat_s }).toEqual({ running: true, heartbeat_s: 0.2 })
    const agents = (await call('svc_status')).output.result as { agent_id: string; name: string }[]
    expect(agents.map(({ name }) => name).sort()).toEqual(['coder', 'tester', 'writer'])
    expect(agents[0]).toMatchObject({ agent_id })
    // Changes by another process are reported here.
    await client.subscribeResource({ uri: `svc://agents/${agent_id}` })
    await until(() => notified.includes(`svc://agents/${agent_id}`))

    expect((await call('svc_stop')).text).toContain(`The daemon (PID ${pid}) has stopped.`)
    expect((await call('svc_stop')).text).toBe('The daemon is not running.')
    expect((await svc(['status', '--json'], { cwd: dir.path })).stdout).toContain(agent_id)
  })

  it('runs tools in the daemon that runs, with its keys, its progress and its life', async () => {
    const release = oneTime()
    const says = (text: string, name?: string): Reply => ({
      kind: 'answer',
      text,
      tool_calls: name ? [{ id: `call-${name}`, name, arguments: '{"path":"."}' }] : [],
    })
    await using model = await modelServer({
      script: async ({ body: { messages }, prompt: text }) => {
        if (text.includes('Wait for it')) await release.fired
        if (text.includes('Never answer')) await new Promise(() => {})
        return text.includes('List it') && messages.at(-1)?.role !== 'tool' ? says('', 'list_files') : says('Four.')
      },
    })
    await using dir = await project({ '.svc/config.yaml': 'daemon:\n  heartbeat: 3600\n' })
    const env = { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'key', OPENAI_MODEL: 'scripted' }
    const stop = async () => void (await svc(['stop'], { cwd: dir.path }))
    await using _daemon = { [Symbol.asyncDispose]: stop }
    await svc(['spawn', 'coder'], { cwd: dir.path, env })
    await svc(['start', '--detach'], { cwd: dir.path, env })

    // The client's process has no key.
    const first = await connectClient(overStdio(dir.path))
    const progress: string[] = []
    const listed = await first.client.callTool(
      { name: 'tasks_run', arguments: { id: 'coder', instruction: 'List it.', toolkits: ['file'] } },
      undefined,
      { onprogress: ({ message }) => void progress.push(message ?? '') },
    )
    expect(toolAnswer(listed)).toMatchObject({ isError: false, output: { status: 'completed', output: 'Four.' } })
    expect(progress).toEqual([
      expect.stringMatching(/^Task task-\w+ has started$/),
      expect.stringContaining('list_files'),
    ])
    expect((await first.call('tasks_run', { id: 'missing', instruction: 'x' })).text).toContain('missing')

    // A task outlives the client that began it.
    const { task_id } = (await first.call('tasks_run', { id: 'coder', instruction: 'Wait for it.', wait: false }))
      .output
    await first.client.close()
    release.fire()
    const second = await connectClient(overStdio(dir.path))
    await until(async () => (await second.call('tasks_get', { task_id })).output.status === 'completed')

    // A plugin that is loaded in the daemon adds its tools to the list of the client's process.
    await writeFile(join(dir.path, 'plugins/extra.ts'), EXTRA)
    expect((await second.call('plugins_reload', { name: 'extra' })).text).toContain('"loaded"')
    expect((await second.call('extra_hello')).output).toEqual({ text: 'hello' })

    // A cancelled call ends its task; a daemon that goes away is reported.
    const cancelled = new AbortController()
    const request = { name: 'tasks_run', arguments: { id: 'coder', instruction: 'Never answer.' } }
    const asked = model.requests.length
    const call = second.client.callTool(request, undefined, { signal: cancelled.signal })
    await until(() => model.requests.length > asked)
    cancelled.abort()
    await expect(call).rejects.toThrow()
    const newest = async () => (await second.call('tasks_list', { id: 'coder', limit: 1 })).output.result[0]
    await until(async () => (await newest()).status === 'failed')
    const lost = second.call('tasks_run', request.arguments)
    await until(() => model.requests.length > asked + 1)
    process.kill((await second.call('daemon_status')).output.pid, 'SIGKILL')
    expect(await lost).toMatchObject({ isError: true, text: expect.stringMatching(/^The daemon \(PID \d+\), which/) })
    expect((await second.call('daemon_status')).output).toMatchObject({ running: false })
  })

  it('writes only messages to standard output, whatever plugins print, and refuses malformed requests', async () => {
    await using dir = await project({ ...FAST, 'plugins/loud.ts': LOUD })
    await using mcp = new Raw(dir.path)
    mcp.send(INITIALIZE, { jsonrpc: '2.0', method: 'notifications/initialized' }, call(1, 'shout'))
    expect((await mcp.answer(1)).result).toMatchObject({ structuredContent: { result: 'quiet' } })
    expect(mcp.messages.every(({ jsonrpc, id, method }) => jsonrpc === '2.0' && (id ?? method) !== undefined)).toBe(
      true,
    )
    // Standard error is another pipe, which may be read after the answer.
    for (const text of ['loud at load', 'and without a newline', 'loud in setup', 'in a tool'])
      await until(() => mcp.stderr.includes(text))

    // Malformed messages get an error code each, and later messages are answered.
    mcp.send('{"jsonrpc": "2.0", "id": ', 'nonsense', '')
    mcp.send('[]', '{"jsonrpc":"1.0","id":2,"method":"ping"}', '{"jsonrpc":"2.0","id":3}')
    mcp.send(`{"jsonrpc":"2.0","id":4,"method":"ping","params":{"_meta":{"x":"${'x'.repeat(5 * 1024 * 1024)}"}}}`)
    mcp.send({ jsonrpc: '2.0', id: 5, method: 'tools/call', params: { name: 7 } })
    mcp.send({ jsonrpc: '2.0', id: 6, method: 'no/such' }, { jsonrpc: '2.0', id: 7, method: 'ping' })
    expect((await mcp.answer(7)).result).toEqual({})
    const nameless = mcp.messages.filter(({ id }) => id === null).map(({ error }) => error?.code)
    expect(nameless).toEqual([-32700, -32700, -32600, -32600])
    const coded = [2, 3, 5, 6].map(async id => (await mcp.answer(id)).error?.code)
    expect(await Promise.all(coded)).toEqual([-32600, -32600, -32602, -32601])
    const nest = `${'['.repeat(9000)}${']'.repeat(9000)}`
    const deep = JSON.stringify(call(9, 'sessions_create', { agent_id: 'x', metadata: { a: 'nest' } }))
    mcp.send(deep.replace('"nest"', nest))
    expect((await mcp.answer(9)).result).toMatchObject({
      isError: true,
      _meta: { problem: { code: 'invalid_input' } },
      content: [{ text: 'The call of sessions.create is not valid: is nested more than 32 levels deep.' }],
    })

    // A call made before the end of input is answered; then the process ends and leaves nothing behind. It gets a
    // second, in which a busy machine may not load what the first call needs.
    mcp.send(call(10, 'svc_models'))
    await mcp.answer(10)
    mcp.send(call(8, 'svc_models'))
    mcp.process.stdin!.end()
    expect(await mcp.ended).toBe(0)
    expect((await mcp.answer(8)).result.isError).toBeUndefined()
    await expect(access(join(dir.path, '.svc', 'daemon.pid'))).rejects.toThrow()
    await expect(access(join(dir.path, '.svc', 'svc.db-wal'))).rejects.toThrow()
  })

  it('can be started by the name svc-mcp, as older clients do', async () => {
    await using dir = await tempDir()
    const name = join(dir.path, 'svc-mcp')
    await symlink(PROGRAM, name)
    const { stdout } = await promisify(execFile)(process.execPath, [name, '--help'], { env: BARE })
    expect(stdout).toMatch(/^svc mcp\n/)
  })

  it('ends on SIGTERM, and when its output is no longer read', async () => {
    await using dir = await project(FAST)
    await using client = new Raw(dir.path)
    await using deaf = new Raw(dir.path)
    for (const each of [client, deaf]) each.send(INITIALIZE)
    await Promise.all([client.answer('first'), deaf.answer('first')])
    client.process.kill('SIGTERM')
    deaf.process.stdout!.destroy()
    deaf.send({ jsonrpc: '2.0', id: 1, method: 'ping' })
    expect(await client.ended).toBe(0)
    expect(await deaf.ended).toBe(0)
  })
})
