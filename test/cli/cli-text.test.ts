import { readFile } from 'node:fs/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { AgentDetail } from '#core/agents/contract'
import { agentPage, statusPage } from '#core/agents/page'
import { OWN_COMMANDS } from '#interfaces/cli/commands/index'
import type { CommandTree } from '#interfaces/cli/contract'
import { allCommandsOf, helpOf, overviewOf, section } from '#interfaces/cli/parsing/help'
import { TOPICS } from '#interfaces/cli/parsing/topics'
import { renderOutput } from '#interfaces/cli/screen/table'
import { styleOf, Terminal } from '#interfaces/cli/screen/terminal'
import { fold, take, widthOf, wrap } from '#interfaces/cli/screen/width'

const tree = JSON.parse(await readFile('dist/commands.json', 'utf8')) as CommandTree
const commands = [...OWN_COMMANDS, ...tree.commands]
const paper = (columns: number) => ({ columns, style: styleOf(false) })
const AGENT = {
  agent_id: 'coder-1a2b3c4d',
  role: 'Software engineer who builds small programs that work, one finished piece at a time',
  model: '',
  goal: null,
}

describe('a table', () => {
  it('keeps all of its columns, including empty ones, when the width is not limited', () => {
    expect(renderOutput([{ a: 1, b: null }])).toBe('A  B\n1  -')
  })

  it('wraps sentences in a narrower terminal, cuts nothing, and omits columns that are always empty', () => {
    const drawn = renderOutput([AGENT, { ...AGENT, agent_id: 'writer-5e6f7a8b' }], { columns: 60 })
    const lines = drawn.split('\n')
    expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(60)
    expect(lines[0]).toMatch(/^AGENT_ID +ROLE$/)
    for (const id of ['coder-1a2b3c4d', 'writer-5e6f7a8b']) expect(drawn).toContain(id)
    expect(drawn.replaceAll(/\s+/g, ' ')).toContain('builds small programs that')
    expect(drawn).not.toContain('…')
  })

  it.each([20, 8])('becomes a list in %d columns, with every id whole', columns => {
    const drawn = renderOutput([AGENT], { columns })
    expect(drawn).toContain('coder-1a2b3c4d')
    expect(drawn.replaceAll(/\s+/g, ' ')).toContain('one finished piece at a time')
  })

  it('shows lists and small objects on one line, larger ones in a part below, and no JSON', () => {
    const run = { participants: ['a-1', 'b-2'], spent: { usd: 0, tokens: 5 }, budget: {}, said: 'one\ntwo' }
    const drawn = renderOutput({
      ...run,
      result: { sides: ['a', 'b'], rounds: 3, why: { a: 1, b: 2, c: 3, d: 4 }, winner: null },
    })
    expect(drawn).toBe(
      [
        'participants  a-1, b-2\nspent         usd 0, tokens 5\nbudget        -\nsaid          one\n              two',
        'result:\n  sides   a, b\n  rounds  3\n  winner  -',
        '  why:\n    a  1\n    b  2\n    c  3\n    d  4',
      ].join('\n\n'),
    )
  })

  it('counts the columns that a terminal uses, not characters', () => {
    expect([widthOf('日本'), widthOf('e\u0301'), widthOf('🦊'), widthOf('abc')]).toEqual([4, 1, 2, 3])
    expect(take('日本語', 5)).toBe('日本')
    const clusters = ['👨‍👩‍👧', '🇩🇪', '❤️']
    expect(clusters.map(widthOf)).toEqual([2, 2, 2])
    expect(take('👨‍👩‍👧👨‍👩‍👧', 3)).toBe('👨‍👩‍👧')
    expect(wrap('aa bb cc', 5)).toEqual(['aa bb', 'cc'])
    // Chinese and Japanese are wrapped between any characters, but no line begins with a full stop.
    expect(wrap('日本語 abc。データを読む。', 8)).toEqual(['日本語', 'abc。', 'データを', '読む。'])
    const japanese = { goal_id: 'goal-1', objective: '調査する：日本語の文書を読み、要約を作成する。' }
    expect(renderOutput([japanese], { columns: 30 })).toBe(
      'GOAL_ID  OBJECTIVE\ngoal-1   調査する：日本語の文\n         書を読み、要約を作成\n         する。',
    )
    expect(wrap('abcdefgh', 3, true)).toEqual(['abc', 'def', 'gh'])
  })
})

describe('formatted text', () => {
  it('is wrapped with an indent where it is too wide, and stays unchanged where it fits', () => {
    const fits = 'short  enough'
    expect(fold(fits, 30)).toBe(fits)
    expect(fold('  goal  Write a test for the parser', 24)).toBe('  goal  Write a test for\n        the parser')
    expect(fold('mem-1  2026-01-02  Completed: all of it', 24)).toBe('mem-1  2026-01-02\n    Completed: all of it')
    expect(fold('- one two three four', 12)).toBe('- one two\n  three four')
    expect(fold('averylongword and more', 8)).toBe('averylongword\nand more')
  })

  const agent = {
    ...AGENT,
    name: 'coder',
    preset: 'coder',
    status: 'working',
    goal: 'Write\x20it\nRole  forged',
    goal_id: 'goal-1',
    waiting_for: null,
    error: null,
    mood: 'content',
    world: null,
    workspace: '/w',
    folders: [],
    sandbox: null,
    spawned_by: null,
    persona: {
      values: ['honesty', 'tests'],
      happiness: 0.9,
      base: { happiness: 0.5 },
      personality: { style: 'terse' },
    },
    suffering: { load: 0.25, level: 'prominent', crisis: false, stressors: [{ stressor: 'futility', severity: 0.25 }] },
    identity: { display_name: 'Heron', traits: ['curious'], narrative: 'one\ntwo', chapters: [{}], opinions: [] },
    created_at: '2026-01-02T03:04:05.000Z',
    last_active: null,
    next_run_at: null,
    cycle_count: 3,
    next: { at: null, reason: 'Its cycle runs now.' },
    cost_usd: 0.5,
    tokens: 1234,
  } as unknown as AgentDetail

  it('shows a whole agent in sections, without JSON, in 80 columns', () => {
    const folded = fold(agentPage(agent), 80)
    for (const title of ['Now', 'Identity', 'Persona', 'Mood and suffering', 'Work and cost'])
      expect(folded).toContain(`\n\n${title}\n`)
    expect(folded).toMatch(/^ {2}happiness +█{9}· 0\.90, initially 0\.50$/m)
    expect(folded).toMatch(/^ {2}stressor +futility 0\.25$/m)
    expect(folded).toMatch(/^ {2}recorded +1 chapter$/m)
    expect(folded).toContain('Write it Role forged (goal-1)')
    expect(folded).not.toMatch(/[{}[\]]|undefined|null|World/)
    expect(Math.max(...folded.split('\n').map(widthOf))).toBeLessThanOrEqual(80)
  })

  it('shows every agent with its whole id, and with its name if the id lacks it', () => {
    expect(statusPage([])).toContain('svc spawn coder')
    const entry = { ...agent, failures: 0, waiting_task: null, frozen_since: null }
    expect(
      statusPage([entry, { ...entry, agent_id: 'x-1', status: 'paused', goal: null, model: 'openai:lite' }]),
    ).toMatch(
      /^● coder-1a2b3c4d {2}working\n {4}Software.*\n {2}→ Write it Role forged\n‖ x-1 \(coder\) {5}paused {2}openai:lite\n/,
    )
  })
})

describe('help text', () => {
  it.each([20, 40, 80])('fits %d columns, except for longer words', columns => {
    const texts = [
      overviewOf(commands, tree, paper(columns)),
      allCommandsOf(commands, tree, paper(columns)),
      ...commands.map(spec => helpOf(spec, commands, paper(columns))),
    ]
    for (const line of texts.join('\n').split('\n')) {
      const longest = Math.max(...line.trim().split(' ').map(widthOf))
      // Usage lines and command names stay on one line, so that they can be copied.
      if (!/^svc |^ {2}\S+( \S+)*$/.test(line))
        expect(widthOf(line)).toBeLessThanOrEqual(Math.max(columns, longest + 4))
    }
  })

  it('lists every exit code that a command can have', () => {
    const shown = section('x', TOPICS['exit-codes']!.rows, paper(80))
    for (const code of new Set([0, 1, 130, ...Object.values(tree.exits)]))
      expect(shown).toMatch(new RegExp(`^ +${code} `, 'm'))
  })
})

it.each([
  [0, 80],
  [120, 120],
])('a terminal that reports %d columns is used as one of %d', (columns, used) => {
  const { stdout } = process
  const before = { isTTY: stdout.isTTY, columns: stdout.columns }
  onTestFinished(() => void Object.assign(stdout, before))
  Object.assign(stdout, { isTTY: true, columns })
  expect(new Terminal({}).columns).toBe(used)
})

describe('colours without a terminal', () => {
  const isColoured = (env: Record<string, string>) => new Terminal(env).style.red('x') !== 'x'
  it.each([
    [{}, false],
    [{ FORCE_COLOR: '1' }, true],
    [{ FORCE_COLOR: '0' }, false],
    [{ FORCE_COLOR: '1', NO_COLOR: '1' }, false],
    [{ FORCE_COLOR: '1', NO_COLOR: '' }, true],
  ])('are used with the environment %j: %s', (env, coloured) => {
    expect(isColoured(env)).toBe(coloured)
  })
})
