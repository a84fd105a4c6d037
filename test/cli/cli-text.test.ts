import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { OWN_COMMANDS } from '../../builtins/cli/commands/index.ts'
import type { CommandTree } from '../../builtins/cli/contract.ts'
import { helpOf, overviewOf, section } from '../../builtins/cli/help.ts'
import { draw } from '../../builtins/cli/table.ts'
import { styleOf, Terminal } from '../../builtins/cli/terminal.ts'
import { TOPICS } from '../../builtins/cli/topics.ts'
import { take, widthOf, wrap } from '../../builtins/cli/width.ts'

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
  it('as wide as it is stands as it is, and has all of its columns', () => {
    expect(draw([{ a: 1, b: null }])).toBe('A  B\n1  -')
  })

  it('in a narrower terminal breaks sentences into lines, cuts nothing, and leaves out what nobody has', () => {
    const drawn = draw([AGENT, { ...AGENT, agent_id: 'writer-5e6f7a8b' }], { columns: 60 })
    const lines = drawn.split('\n')
    expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(60)
    expect(lines[0]).toMatch(/^AGENT_ID +ROLE$/)
    for (const id of ['coder-1a2b3c4d', 'writer-5e6f7a8b']) expect(drawn).toContain(id)
    expect(drawn.replaceAll(/\s+/g, ' ')).toContain('builds small programs that')
    expect(drawn).not.toContain('…')
  })

  it.each([20, 8])('in %d columns becomes a list, with every id whole', columns => {
    const drawn = draw([AGENT], { columns })
    expect(drawn).toContain('coder-1a2b3c4d')
    expect(drawn.replaceAll(/\s+/g, ' ')).toContain('one finished piece at a time')
  })

  it('counts the columns that a terminal takes, not characters', () => {
    expect([widthOf('日本'), widthOf('e\u0301'), widthOf('🦊'), widthOf('abc')]).toEqual([4, 1, 2, 3])
    expect(take('日本語', 5)).toBe('日本')
    expect(wrap('aa bb cc', 5)).toEqual(['aa bb', 'cc'])
    expect(wrap('abcdefgh', 3, true)).toEqual(['abc', 'def', 'gh'])
  })
})

describe('help', () => {
  it.each([20, 40, 80])('fits %d columns, but for words that are longer', columns => {
    const texts = [
      overviewOf(commands, tree, paper(columns)),
      ...commands.map(spec => helpOf(spec, commands, paper(columns))),
    ]
    for (const line of texts.join('\n').split('\n')) {
      const longest = Math.max(...line.trim().split(' ').map(widthOf))
      // A usage and the name of a command stand in one line, to be copied.
      if (!/^svc |^ {2}\S+( \S+)*$/.test(line))
        expect(widthOf(line)).toBeLessThanOrEqual(Math.max(columns, longest + 4))
    }
  })

  it('tells every exit code that a command can have', () => {
    const told = section('x', TOPICS['exit-codes']!.rows, paper(80))
    for (const code of new Set([0, 1, 130, ...Object.values(tree.exits)]))
      expect(told).toMatch(new RegExp(`^ +${code} `, 'm'))
  })
})

describe('colours', () => {
  const isColoured = (env: Record<string, string>) => new Terminal(env).style.red('x') !== 'x'
  it.each([
    [{}, false],
    [{ FORCE_COLOR: '1' }, true],
    [{ FORCE_COLOR: '0' }, false],
    [{ FORCE_COLOR: '1', NO_COLOR: '1' }, false],
    [{ FORCE_COLOR: '1', NO_COLOR: '' }, true],
  ])('where no terminal is, with %j: %s', (env, coloured) => {
    expect(isColoured(env)).toBe(coloured)
  })
})
