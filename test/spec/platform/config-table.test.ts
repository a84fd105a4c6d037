import { afterAll, describe, expect, it } from 'vitest'
import { BUILTINS } from '../../../builtins/index.ts'
import { testHost } from '../../support/index.ts'

interface Row {
  default: unknown
  /** Valid values other than the default. */
  takes: readonly unknown[]
  refuses: readonly unknown[]
  env?: string
}

const bool = (initial: boolean, env?: string): Row => ({
  default: initial,
  takes: [!initial],
  refuses: ['yes', 1, null],
  ...(env ? { env } : {}),
})
const names = (): Row => ({
  default: [],
  takes: [['a', 'b'], []],
  refuses: ['a', [7], null],
})
const seconds = (initial: number, refuses: readonly unknown[] = [], takes: readonly unknown[] = []): Row => ({
  default: initial,
  takes: [0.5, 60, ...takes],
  refuses: [-1, '10', null, Number.POSITIVE_INFINITY, ...refuses],
})
const portion = (initial: number): Row => ({ default: initial, takes: [0, 0.5, 1], refuses: [-0.1, 1.1, '0.5', null] })
const count = (initial: number, least: number): Row => ({
  default: initial,
  takes: [least, 1000],
  refuses: [least - 1, 1.5, '8', null],
})

/** Configuration keys of the specification, with the defaults that it leaves open. */
const TABLE: Readonly<Record<string, Row>> = {
  'server.api_key': {
    default: '',
    takes: ['a key', 'schlüssel'],
    refuses: [7, null, 'a\nkey', '\ud800'],
    env: 'SVC_API_KEY',
  },
  'server.cors_origins': {
    default: [],
    takes: [['https://example.org']],
    refuses: ['*', [7], ['https://a.b/c'], null],
  },
  'server.allowed_hosts': { default: [], takes: [['box', 'box.lan:8000']], refuses: ['box', ['*.lan'], [''], null] },
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
  'daemon.pursuit_transcript_max_messages': { default: 200, takes: [1, 50], refuses: [0, 1.5, '200', null] },
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
  'tools.shell_sandboxed_programs': bool(true),
  'tools.sub_agent_toolkits': { default: null, takes: [['file'], []], refuses: ['file', [7]] },
  'memory.unified': bool(true),
  'telemetry.enabled': bool(false, 'SVC_TELEMETRY'),
  'telemetry.capture_content': bool(false),
  'telemetry.endpoint': {
    default: '',
    takes: ['https://collector.example:4318'],
    refuses: ['collector:4318', 'ftp://a', 7, null],
  },
  'model.default_model': { default: '', takes: ['openai:lite'], refuses: [7, null], env: 'SVC_DEFAULT_MODEL' },
  'model.planning_model': { default: '', takes: ['openai:pro'], refuses: [7, null] },
  'model.max_tokens': { default: 4096, takes: [1, 8000], refuses: [0, 1.5, '4096', null] },
  'model.temperature': { default: 0, takes: [0.7, 2], refuses: [-1, 2.1, '0', null] },
  'model.ollama_base_url': {
    default: 'http://localhost:11434',
    takes: ['http://box:11434/v1'],
    env: 'OLLAMA_BASE_URL',
    refuses: ['', 'box:11434', 7, null],
  },
  'suffering.enabled': bool(true),
  'suffering.threshold_prominent': portion(0.35),
  'suffering.threshold_constrained': portion(0.55),
  'suffering.threshold_dominant': portion(0.75),
  'suffering.threshold_crisis': portion(0.9),
  'suffering.max_stressors': { default: 5, takes: [1, 50], refuses: [0, 51, 1.5, '5', null] },
  'suffering.initial_severity': { default: 0.2, takes: [0.02, 1], refuses: [0, 1.1, '0.2', null] },
  'suffering.time_scale': { default: 1, takes: [0, 60], refuses: [-1, 1001, '1', null] },
  'suffering.crisis_relief': { default: 1, takes: [0.5, 24], refuses: [0, '1', null] },
  'suffering.easing': { default: 1, takes: [0.5, 24], refuses: [0, '1', null] },
  'suffering.persona_return': { default: 24, takes: [0.5, 240], refuses: [0, '1', null] },
  'suffering.behavioural_effects': bool(true),
  'economy.enabled': bool(false),
  'economy.starting_balance': { default: 100, takes: [0, 12.5], refuses: [-1, '1', null], env: 'SVC_STARTING_BALANCE' },
  'economy.skill_course_cost': { default: 80, takes: [0, 12.5], refuses: [-1, '1', null] },
  'economy.skill_increment': { default: 0.25, takes: [0.5, 1], refuses: [0, 1.1, null] },
  'economy.lottery_cost': { default: 10, takes: [0, 12.5], refuses: [-1, '1', null] },
  'economy.lottery_win_chance': { default: 0.05, takes: [0, 1], refuses: [-0.1, 1.1, null] },
  'economy.lottery_payout': { default: 200, takes: [0, 12.5], refuses: [-1, '1', null] },
  'economy.blackjack_win_rate': { default: 0.48, takes: [0, 1], refuses: [-0.1, 1.1, null] },
  'economy.default_gamble_wager': { default: 10, takes: [0.01, 5], refuses: [0, '1', null] },
  'economy.learnable_skills': {
    default: ['code_review', 'teaching', 'architecture', 'analysis', 'writing', 'debugging'],
    takes: [['sewing'], []],
    refuses: ['sewing', ['Sewing'], null],
  },
  'economy.rent': { default: 20, takes: [0, 12.5], refuses: [-1, '1', null] },
  'economy.rent_every': count(10, 1),
  'economy.credit_limit': { default: 500, takes: [0, 12.5], refuses: [-1, '1', null] },
  'economy.casual_wage': { default: 10, takes: [0, 12.5], refuses: [-1, '1', null] },
  'economy.overtime': { default: 0.5, takes: [0, 1], refuses: [-0.1, 1.1, null] },
  'economy.work_per_beat': { default: 2, takes: [0, 5], refuses: [-1, 1.5, 101, null] },
  'economy.life_events': bool(true),
  'economy.life_event_chance': { default: 0.3, takes: [0, 1], refuses: [-0.1, 1.1, null] },
  'economy.mortal': bool(false),
  'economy.history_beats': { default: 1000, takes: [10, 50], refuses: [9, 1.5, null] },
  event_log_fsync: bool(false, 'SVC_EVENT_LOG_FSYNC'),
  seed: { default: null, takes: [7], refuses: [1.5, '7'], env: 'SVC_SEED' },
  logs_dir: { default: 'logs', takes: ['elsewhere'], refuses: [7, null, 'a\0b'], env: 'SVC_LOGS_DIR' },
  profiles_dir: { default: '', takes: ['elsewhere'], refuses: [7, null, 'a\0b'], env: 'SVC_PROFILES_DIR' },
  'plugins.enabled': bool(true, 'SVC_PLUGINS'),
  'plugins.allowlist': names(),
  'checkpoints.keep': { default: 10, takes: [1, 50], refuses: [0, 1001, 1.5, '8', null] },
  'checkpoints.every_cycles': { default: 0, takes: [5], refuses: [-1, 1.5, '8', null] },
  'checkpoints.at_shutdown': bool(true),
  'checkpoints.grace': seconds(2, [601], [0]),
  'a2a.max_exchange': count(30, 2),
  'a2a.public.enabled': bool(false),
  'a2a.public.agent': { default: '', takes: ['coder'], refuses: [7, null] },
  'a2a.public.url': { default: '', takes: ['https://agents.example.org/x'], refuses: ['agents', 'ftp://a', 7, null] },
  'patterns.answer_timeout': { default: 1_800, takes: [1, 60.5], refuses: [0, -1, '10', null] },
  'patterns.budget_usd': { default: 0, takes: [0.5, 10], refuses: [-1, '1', null] },
  'patterns.budget_tokens': count(0, 0),
  'swarm.policy': { default: 'passive', takes: ['active', 'cheerful'], refuses: ['Not A Name', '', 7, null] },
  'tasks.parse_repairs': { default: 1, takes: [0, 5], refuses: [-1, 6, 1.5, '1', null] },
}

/** Reload matrix: these keys are applied while running, all others after a restart. */
const APPLIED = [
  'heartbeat',
  'cycle_timeout',
  'max_concurrent_agents',
  'wake_poll_interval',
  'tool_timeout',
  'max_steps_policy',
  'pursuit_resume',
  'pursuit_transcript_max_messages',
].map(name => `daemon.${name}`)
/** Keys of modules that the specification does not mention. */
const ALSO_APPLIED = [
  'a2a.max_exchange',
  'swarm.policy',
  ...['keep', 'every_cycles', 'at_shutdown', 'grace'].map(name => `checkpoints.${name}`),
  ...['answer_timeout', 'budget_usd', 'budget_tokens'].map(name => `patterns.${name}`),
]
const isApplied = (key: string) =>
  [...APPLIED, ...ALSO_APPLIED].includes(key) || key.startsWith('retention.') || key === 'event_log_fsync'

/** Keys of modules that do not exist yet. Remove each one when it appears. */
const ABSENT: readonly string[] = []

const home = await testHost({ builtins: BUILTINS, roles: ['cli'] })
afterAll(() => home.close())
const { config } = home.kernel
const known = new Map(config.keys().map(key => [key.path, key]))
const present = Object.keys(TABLE).filter(key => known.has(key))

describe.each(present)('%s', key => {
  const row = TABLE[key]!
  const info = known.get(key)!

  it(`is ${JSON.stringify(row.default)} by default, and has a description`, () => {
    expect(info.default).toEqual(row.default)
    expect(info.schema).toHaveProperty('description')
  })

  it(row.env ? `is overridden by ${row.env}` : 'has no environment variable', () => {
    expect(info.env).toBe(row.env)
  })

  it(isApplied(key) ? 'is applied while running' : 'needs a restart', () => {
    expect(info.reload).toBe(isApplied(key) ? 'applied' : 'restart_required')
  })

  it(`accepts ${row.takes.map(value => JSON.stringify(value)).join(', ')} and returns its reload class`, async () => {
    for (const value of row.takes) {
      expect(await config.patch(patchOf(key, value))).toEqual({ [key]: info.reload })
      expect((await home.kernel.invoke('config.value', { key })) as object).toMatchObject({
        value: key === 'server.api_key' ? '***' : value,
        source: 'file',
      })
    }
    await config.unset(key)
  })

  it(`rejects ${row.refuses.map(value => String(JSON.stringify(value))).join(', ')}`, async () => {
    for (const value of row.refuses) {
      await expect(config.patch(patchOf(key, value))).rejects.toMatchObject({ code: 'invalid_config', status: 400 })
    }
  })
})

it('every key of the table exists, except those listed as absent', () => {
  expect(Object.keys(TABLE).filter(key => !known.has(key))).toEqual(ABSENT)
})

it('every key of every module has a description', () => {
  const silent = [...known.values()].filter(({ schema }) => !(schema as { description?: string }).description)
  expect(silent.map(({ path }) => path)).toEqual([])
})

it('the reload matrix of the specification holds for every existing key', () => {
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
