import { afterAll, describe, expect, it } from 'vitest'
import { loadBuiltins } from '../../builtins/index.ts'
import { house } from '../support/index.ts'

interface Row {
  default: unknown
  /** What the key takes beside its default, and what it doesn't. */
  takes: readonly unknown[]
  refuses: readonly unknown[]
  env?: string
}

const bool = (initial: boolean, env?: string): Row => ({
  ...{ default: initial, takes: [!initial], refuses: ['yes', 1, null] },
  ...(env ? { env } : {}),
})
const names = (initial: readonly string[] = []): Row => ({
  ...{ default: initial, takes: [['a', 'b'], []], refuses: ['a', [7], null] },
})
const seconds = (initial: number, refuses: readonly unknown[] = [], takes: readonly unknown[] = []): Row => ({
  ...{ default: initial, takes: [0.5, 60, ...takes], refuses: [-1, '10', null, Number.POSITIVE_INFINITY, ...refuses] },
})
const count = (initial: number, least: number): Row => ({
  ...{ default: initial, takes: [least, 1000], refuses: [least - 1, 1.5, '8', null] },
})

/** The configuration file's table of the specification, with the defaults that it leaves open. */
const TABLE: Readonly<Record<string, Row>> = {
  'server.api_key': { default: '', takes: ['a key'], refuses: [7, null], env: 'SVC_API_KEY' },
  'server.cors_origins': {
    default: [],
    takes: [['https://example.org']],
    refuses: ['*', [7], ['https://a.b/c'], null],
  },
  'server.session_ttl_hours': { default: 0, takes: [0.5, 24], refuses: [-1, '1', null] },
  'retention.enabled': bool(false),
  'daemon.heartbeat': { ...seconds(10, [0]), env: 'SVC_HEARTBEAT' },
  'daemon.cycle_timeout': seconds(300, [], [0]),
  'daemon.max_concurrent_agents': count(8, 1),
  'daemon.wake_poll_interval': seconds(1, [0]),
  'daemon.tool_timeout': seconds(60, [], [0]),
  'daemon.max_retries': { ...count(2, 0), env: 'SVC_MAX_RETRIES' },
  'daemon.budget_usd': { default: 0, takes: [0.5, 10], refuses: [-1, '1', null], env: 'SVC_BUDGET_USD' },
  'daemon.budget_tokens': { ...count(0, 0), env: 'SVC_BUDGET_TOKENS' },
  'daemon.budget_mode': { default: 'reserve', takes: ['record_only'], refuses: ['none', null] },
  'daemon.budget_reserve_usd_generation': { default: 0.05, takes: [0, 1], refuses: [-1, '1', null] },
  'daemon.budget_reserve_usd_pursuit': { default: 0.1, takes: [0, 1], refuses: [-1, '1', null] },
  'daemon.budget_persist': bool(false),
  'daemon.max_steps_policy': { default: 'continue', takes: ['abandon'], refuses: ['stop', null] },
  'daemon.pursuit_resume': bool(true),
  'daemon.pursuit_transcript_max_messages': { default: 200, takes: [50], refuses: [0, 1.5, '200', null] },
  'daemon.preserve_active_goals_on_restart': bool(true),
  'daemon.preserve_active_goals_on_timeout': bool(true),
  'daemon.guards_fail_closed': bool(true),
  'daemon.watch_files': names(),
  'daemon.toolkit_cache': bool(true),
  'approval.enabled': bool(false),
  'approval.require_for': names(),
  'approval.auto_approve': names(),
  'approval.timeout_cycles': count(0, 0),
  'guardrails.enabled': bool(false),
  'guardrails.pii': bool(true),
  'guardrails.prompt_injection': bool(true),
  'guardrails.pii_action': { default: 'redact', takes: ['flag', 'block'], refuses: ['shout', null] },
  'guardrails.injection_action': { default: 'block', takes: ['flag', 'redact'], refuses: ['shout', null] },
  'tools.file_max_read_bytes': count(10_000_000, 1),
  'tools.file_max_write_bytes': count(10_000_000, 1),
  'tools.shell_allow_dev_commands': bool(false),
  'tools.shell_pass_env': bool(false),
  'tools.sub_agent_toolkits': { default: null, takes: [['file'], []], refuses: ['file', [7]] },
  'memory.unified': bool(true),
  event_log_fsync: bool(false, 'SVC_EVENT_LOG_FSYNC'),
  seed: { default: null, takes: [7], refuses: [1.5, '7'], env: 'SVC_SEED' },
  logs_dir: { default: 'logs', takes: ['elsewhere'], refuses: [7, null], env: 'SVC_LOGS_DIR' },
  profiles_dir: { default: '', takes: ['elsewhere'], refuses: [7, null], env: 'SVC_PROFILES_DIR' },
  'plugins.enabled': bool(true),
  'plugins.allowlist': names(),
}

/** The reload matrix: what is named here is applied while running, everything else with a restart. */
const APPLIED = [
  ...['heartbeat', 'cycle_timeout', 'max_concurrent_agents', 'wake_poll_interval', 'tool_timeout'],
  ...['max_steps_policy', 'pursuit_resume', 'pursuit_transcript_max_messages'],
].map(name => `daemon.${name}`)
const isApplied = (key: string) => APPLIED.includes(key) || key.startsWith('retention.') || key === 'event_log_fsync'

/** Rows whose rooms are still to come: each one that appears is to leave this list. */
const ABSENT: readonly string[] = []

const home = await house({ builtins: await loadBuiltins(), roles: ['cli'] })
afterAll(() => home.close())
const { config } = home.kernel
const known = new Map(config.keys().map(key => [key.path, key]))
const present = Object.keys(TABLE).filter(key => known.has(key))

describe.each(present)('%s', key => {
  const row = TABLE[key]!
  const info = known.get(key)!

  it(`is ${JSON.stringify(row.default)} unless told, and says what it is for`, () => {
    expect(info.default).toEqual(row.default)
    expect(info.schema).toHaveProperty('description')
  })

  it(row.env ? `is overridden by ${row.env}` : 'has no environment variable', () => {
    expect(info.env).toBe(row.env)
  })

  it(isApplied(key) ? 'is applied while running' : 'needs a restart', () => {
    expect(info.reload).toBe(isApplied(key) ? 'applied' : 'restart_required')
  })

  it(`takes ${row.takes.map(value => JSON.stringify(value)).join(', ')}; tells its class when it changes`, async () => {
    for (const value of row.takes) {
      expect(await config.patch(patchOf(key, value))).toEqual({ [key]: info.reload })
      expect((await home.kernel.invoke('config.value', { key })) as object).toMatchObject({
        value: key === 'server.api_key' ? '***' : value,
        source: 'file',
      })
    }
    await config.unset(key)
  })

  it(`refuses ${row.refuses.map(value => String(JSON.stringify(value))).join(', ')}`, async () => {
    for (const value of row.refuses) {
      await expect(config.patch(patchOf(key, value))).rejects.toMatchObject({ code: 'invalid_config', status: 400 })
    }
  })
})

it('only rows whose rooms are still to come are absent', () => {
  expect(Object.keys(TABLE).filter(key => !known.has(key))).toEqual(ABSENT)
})

it('every key of every room has a sentence that says what it is for', () => {
  const silent = [...known.values()].filter(({ schema }) => !(schema as { description?: string }).description)
  expect(silent.map(({ path }) => path)).toEqual([])
})

it('the matrix of the specification holds for every key that there is', () => {
  const groups = [
    'guardrails.',
    'approval.',
    'plugins.',
    'tools.',
    'economy.',
    'model.',
    'memory.',
    'server.',
    'suffering.',
  ]
  const wrong = [...known.values()].filter(({ path, reload }) => {
    if (groups.some(group => path.startsWith(group)) || path.startsWith('daemon.budget_')) return reload === 'applied'
    return path.startsWith('retention.') && reload !== 'applied'
  })
  expect(wrong.map(({ path }) => path)).toEqual([])
})

function patchOf(key: string, value: unknown): Record<string, unknown> {
  return key.split('.').reduceRight<unknown>((below, step) => ({ [step]: below }), value) as Record<string, unknown>
}
