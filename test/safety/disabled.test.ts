import { describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { pluginsOff } from '#platform/settings/disabled'
import { BUILTINS } from '../../builtins/index.ts'
import { Svc } from '../../embed/embed.ts'
import { project } from '../cli/project.ts'
import { listen } from '../interfaces/rest/rest-server.ts'
import { asksForGoal } from '../spec/core/models/model-host.ts'
import { RunningSvc } from '../support/cli.ts'
import { modelServer, text, toolCall } from '../support/model/model-server.ts'
import { until } from '../support/until.ts'
import { svc as command } from '../support/vitest/warm.ts'

/** Modules that a working service needs besides an interface. */
const CORE = ['settings', 'store', 'daemon', 'profiles', 'agents', 'models', 'runtime', 'goals']
const ALL = BUILTINS.map(({ name }) => name)

/** Modules that are on besides the core, one list per started service. */
const SUBSETS: (readonly string[])[] = [
  ['rest'],
  ['cli'],
  ['rest', 'cli'],
  ['rest', 'budget'],
  ['rest', 'approvals', 'guardrails'],
  ['rest', 'memory', 'toolkit-memory', 'toolkit-knowledge'],
  ['rest', 'sandbox', 'toolkit-file', 'environment'],
  ['rest', 'schedules', 'toolkit-alarm', 'waking'],
  ['rest', 'sessions', 'tasks'],
  ['rest', 'sub-agents', 'net', 'toolkit-web'],
  ['rest', 'suffering', 'identity'],
  ['rest', 'a2a', 'delegation', 'patterns'],
  ['rest', 'economy', 'swarm'],
  ['rest', 'checkpoints', 'retention', 'images'],
  ['rest', 'runs', 'recordings', 'export', 'events'],
  ['rest', 'metrics', 'telemetry', 'doctor', 'cli'],
  ['cli', 'mcp', 'watchdog', 'cluster', 'plugins-admin'],
  ALL.filter(name => name !== 'budget'),
  ALL.filter(name => !['store', 'memory', 'events'].includes(name) || name === 'store'),
  ALL.filter(name => !['sandbox', 'net', 'approvals', 'rest'].includes(name)),
]

const PROFILE = { 'profiles/worker.yaml': 'name: worker\nrole: does what the script says\n' }

describe('a service with only some of its modules', () => {
  it.each(SUBSETS.map((more, n) => [n + 1, more.slice(0, 5).join(', '), more] as const))(
    '%i: spawns, runs a cycle, lists and shows its status with the core and %s',
    async (_, __, more) => {
      const disabled = ALL.filter(name => !CORE.includes(name) && !more.includes(name))
      const on = ALL.filter(name => !pluginsOff(BUILTINS, disabled).has(name))
      await using server = await modelServer({
        script: request => (asksForGoal(request) ? text('{"goal": "Look around"}') : toolCall('finish_goal', FINISHED)),
      })
      const env = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'test-key', OPENAI_MODEL: 'scripted' }
      const config = stringify({ plugins: { disabled }, daemon: { heartbeat: 0.2 } })
      await using dir = await project({ ...PROFILE, '.svc/config.yaml': config })
      const warnings: string[] = []
      const log = { level: 'warn', write: (line: string) => void warnings.push(line) }
      await using svc = await Svc.open(dir.path, { roles: ['daemon', 'server'], ports: { env }, log })

      expect(namesOf(svc, 'live')).toEqual(on)
      const { agent_id } = await svc.spawn('worker')
      const { goal_id } = await svc.invoke('goals.add', { id: agent_id, objective: 'Say hello' })
      const isEnded = async () => (await svc.invoke('goals.get', { goal_id })).status !== 'active'
      await until(isEnded)
      expect(await svc.invoke('goals.get', { goal_id })).toMatchObject({ status: 'completed' })
      expect(await svc.status()).toMatchObject([{ agent_id }])

      if (on.includes('rest')) {
        const { send: http } = await listen(svc.kernel)
        expect(await http('/agents', { preset: 'worker' })).toMatchObject({ status: 201 })
        expect((await http('/agents')).json).toHaveLength(2)
        expect((await http(`/agents/${agent_id}/goals`)).json).toContainEqual(
          expect.objectContaining({ goal_id, status: 'completed' }),
        )
        expect((await http('/daemon')).json).toMatchObject({ running: true, health: 'healthy' })
      }
      const words = (...given: string[]) => command([...given, '--json'], { cwd: dir.path, env })
      expect(JSON.parse((await words('status')).stdout)).toContainEqual(expect.objectContaining({ agent_id }))
      expect(await words('spawn', 'worker')).toMatchObject({ code: 0 })
      expect(await words('goals', agent_id)).toMatchObject({ code: 0, stdout: expect.stringContaining(goal_id) })
      expect(warnings.filter(line => !line.includes('"code":"guarded"'))).toEqual([])
    },
  )
})

describe('disabling a module', () => {
  const goesToo =
    /^disabled: sessions; therefore also disabled: tasks \(needs sessions\), a2a-protocol \(needs sessions\)$/m

  it('names all modules that are disabled with it: config set, PATCH /config, start and doctor', async () => {
    await using dir = await project()
    const run = (...words: string[]) => command(words, { cwd: dir.path })
    const set = await run('config', 'set', 'plugins.disabled', '[sessions]')
    expect(set).toMatchObject({ code: 0, stdout: expect.stringMatching(goesToo) })
    expect((await run('doctor')).stdout).toMatch(/therefore also disabled: tasks \(needs sessions\),\s+a2a-protocol/)
    expect((await run('config', 'set', 'plugins.disabled', '[]')).stdout).not.toContain('therefore also disabled')

    const log: string[] = []
    await using svc = await Svc.open(dir.path, { roles: ['server'], log: { write: line => void log.push(line) } })
    const patched = await svc.invoke('config.patch', { plugins: { disabled: ['sessions'] } })
    expect(patched.note).toMatch(goesToo)
    await using again = await Svc.open(dir.path, { log: { write: line => void log.push(line) } })
    expect(log.map(line => JSON.parse(line).msg)).toContainEqual(expect.stringMatching(goesToo))
    const tasks = again.kernel.host.list().find(({ name }) => name === 'tasks')
    expect(tasks).toMatchObject({ state: 'disabled', error: 'needs "sessions", which is disabled' })
  })

  it.each(['goals', 'runtime'])('lets svc serve run without %s and all that needs it', async name => {
    await using dir = await project({ '.svc/config.yaml': `plugins:\n  disabled: [${name}]\n` })
    await using service = new RunningSvc(['serve', '--with-daemon', '--port', '0', '--json'], { cwd: dir.path })
    const [, url = ''] = await service.waitForOutput(/"url":"(http[^"]+)"/)
    expect((await fetch(`${url}/agents`)).status).toBe(200)
  })

  it.each([
    ['rest', 'rest', 'is disabled'],
    ['agents', 'agents', 'is disabled'],
    ['store', 'agents', 'needs "store", which is disabled'],
  ])('%s makes svc serve fail with an error that names %s', async (name, module, why) => {
    await using dir = await project({ '.svc/config.yaml': `plugins:\n  disabled: [${name}]\n` })
    const { code, stderr } = await command(['serve', '--port', '0'], { cwd: dir.path })
    expect(code).toBe(1)
    expect(stderr).toContain(`svc serve needs the module "${module}", which ${why}; to enable it`)
  })
})

const FINISHED = { summary: 'said hello', evidence: [] }

function namesOf(svc: Svc, state: string): string[] {
  const wanted = svc.kernel.host.list().filter(plugin => plugin.state === state)
  return ALL.filter(name => wanted.some(plugin => plugin.name === name))
}
