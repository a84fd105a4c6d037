import { describe, expect, it } from 'vitest'
import { BUILTINS } from '../../builtins/index.ts'
import { spawn } from '../spec/core/models/model-host.ts'
import { testHost } from '../support/index.ts'

/**
 * For each service: an operation that uses it, mostly of its own module, its input (`AGENT` is an agent's id, `FOLDER`
 * a folder), and the method that it calls.
 */
const USED: Record<string, readonly [operation: string, input: object, method: string]> = {
  agents: ['memory.list', { id: 'AGENT' }, 'find'],
  alarms: ['alarms.all', {}, 'list'],
  benchmark: ['benchmark.scenarios', {}, 'scenarios'],
  budget: ['budget.status', {}, 'status'],
  checkpoints: ['checkpoints.list', { id: 'AGENT' }, 'list'],
  daemon: ['daemon.status', {}, 'isDriven'],
  environment: ['tasks.run', { id: 'AGENT', instruction: 'Say how you are' }, 'parts'],
  first_goals: ['agents.spawn', { preset: 'coder', goal: 'Look at the tide' }, 'add'],
  freeze: ['agents.status', {}, 'since'],
  goals: ['goals.add', { id: 'AGENT', objective: 'Look at the tide' }, 'add'],
  host: ['plugins.list', {}, 'list'],
  identity: ['identity.get', { id: 'AGENT' }, 'of'],
  jail: ['agents.spawn', { preset: 'coder', workspace: '/' }, 'admit'],
  mail: ['messages.list', { id: 'AGENT' }, 'list'],
  memory: ['memory.list', { id: 'AGENT' }, 'of'],
  model_caller: ['models.list', {}, 'inUse'],
  models: ['models.list', {}, 'inUse'],
  profiles: ['profiles.list', {}, 'list'],
  recordings: ['recordings.list', {}, 'list'],
  retention: ['retention.run', { dry_run: true }, 'run'],
  run_records: ['runs.export', { id: 'run-1' }, 'read'],
  runs: ['tasks.run', { id: 'AGENT', instruction: 'Say how you are' }, 'recordStart'],
  runtime: ['goals.context', { id: 'AGENT' }, 'toolsFor'],
  sandbox: ['sandbox.status', {}, 'status'],
  schedules: ['schedules.all', {}, 'list'],
  schemas: ['tasks.run', { id: 'AGENT', instruction: 'Say how you are', response_schema: { type: 'object' } }, 'check'],
  sessions: ['sessions.get', { session_id: 'session-1' }, 'get'],
  shell: ['goals.add', { id: 'AGENT', objective: 'Look at the moon', acceptance: [{ command: 'ls' }] }, 'check'],
  skills: ['tasks.run', { id: 'AGENT', instruction: 'Say how you are' }, 'catalogue'],
  specialists: ['swarm.route', { task: 'write a poem' }, 'candidates'],
  store: ['agents.list', {}, 'many'],
  suffering: ['agents.get', { id: 'AGENT' }, 'state'],
  tool_gate: ['tools.list', { id: 'AGENT' }, 'needsApproval'],
  worktrees: ['agents.spawn', { preset: 'coder', workspace: 'FOLDER', worktree: 'agent' }, 'create'],
  world: ['economy.citizen', { id: 'AGENT' }, 'citizen'],
}

/** Services that no operation uses this way, by reason. */
const EXCEPTIONS: Record<string, readonly string[]> = {
  'of the program, or of a module that is replaced at a start only': [
    'plugins off',
    'opener',
    'supervisor',
    'watchdog',
    'store_schema',
    'scheduler',
    'database_images',
    'rest',
    'daemon_listener',
    'mcp',
  ],
  'for other modules: its own has no operations, or these read and write the tables of the module': [
    'approvals',
    'delegations',
    'demos',
    'guarded_fetch',
    'images',
    'peers',
    'processes',
    'questions',
    'reminders',
    'session_tasks',
    'task-driver',
    'tool_names',
    'trials',
    'watcher',
    'web_pages',
  ],
  'its operations need more than its contract has: the identity of the caller, each finding, the source of each tool': [
    'tasks',
    'guardrails',
  ],
}

describe('a service that a plugin provides instead of a module', () => {
  it('is used by operations until the plugin is removed', async () => {
    await using host = await testHost({
      builtins: BUILTINS,
      roles: ['server'],
      clock: 'system',
      config: { economy: { enabled: true }, suffering: { enabled: true }, tasks: { toolkits: ['skills'] } },
    })
    const { kernel } = host
    const agent_id = await spawn(host, 'coder')
    const services = kernel.services.list().flatMap(({ name }) => (name.includes('/') ? [] : [name]))
    const listed = [...Object.keys(USED), ...Object.values(EXCEPTIONS).flat()]
    expect(services.sort()).toEqual(listed.sort())

    const unused: string[] = []
    for (const [name, [operation, input, method]] of Object.entries(USED)) {
      const module = kernel.use<object>({ name })
      const calls: string[] = []
      const other = new Proxy(module, {
        get(_, key) {
          const value: unknown = Reflect.get(module, key)
          if (typeof value !== 'function') return value
          return (...args: unknown[]) => {
            calls.push(String(key))
            return value.apply(module, args)
          }
        },
      })
      // The answer does not matter: a session that is not found was looked up as well.
      const given = JSON.stringify(input).replace('AGENT', agent_id).replace('FOLDER', host.root)
      const invoke = () => kernel.invoke(operation, JSON.parse(given)).catch(() => {})
      await kernel.host.add({ name: 'other', setup: svc => void svc.provide({ name }, other) })
      await invoke()
      if (!calls.includes(method)) unused.push(`${name}: ${operation} called ${calls.join(', ') || 'nothing'}`)
      await kernel.host.remove('other')
      const before = calls.length
      await invoke()
      expect(calls.slice(before), `${name} after its plugin is gone`).toEqual([])
    }
    expect(unused).toEqual([])
  })
})
