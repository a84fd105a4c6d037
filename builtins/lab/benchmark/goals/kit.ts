import { FINISH_GOAL } from '#core/runtime/contract'
import type { z } from '#kernel'
import type { Folder, Scenario, ToolUse } from '../contract.ts'

export type Files = Readonly<Record<string, string>>
type FolderTest = (folder: Folder) => boolean | Promise<boolean>

/** Work in a folder, with checks of the result and a solution that passes them. */
export interface WorkGoal {
  name: string
  title: string
  /** The goal as the agent reads it. */
  asks: string
  /** Preset of the agent. Default: `coder`. */
  preset?: string
  /** Initial files of the folder. */
  files: Files | (() => Files)
  /** Acceptance criteria of the goal, which the agent sees. */
  acceptance: NonNullable<z.input<typeof Scenario>['acceptance']>
  /** Checks of the result, by name, which the agent does not see. */
  checks: Readonly<Record<string, FolderTest>>
  /** Tool calls that reach the goal. */
  solution: () => readonly ToolUse[]
  /** Summary with which the agent ends the goal. */
  summary?: string
  arrivals?: z.input<typeof Scenario>['arrivals']
  /** Answer of the operator to a question of the agent. */
  operator?: string
  ends?: 'completed' | 'abandoned'
}

/** Converts a work goal to a benchmark scenario. */
export function workGoal(category: string, goal: WorkGoal): z.input<typeof Scenario> {
  const { checks, asks, summary = 'Done as asked, and checked.', ends = 'completed', solution, preset, ...rest } = goal
  const end = { tool: FINISH_GOAL, arguments: { reached: ends === 'completed', summary, evidence: [] } }
  return {
    ...rest,
    category,
    ends,
    mode: 'pursuit',
    asks: [asks],
    preset: preset ?? 'coder',
    measures: asks.replace(/\s+/g, ' ').slice(0, 200),
    checks: Object.entries(checks).map(([what, holds]) => ({ of: 'folder', what, holds })),
    runs_programs: solution().some(
      ({ tool, arguments: { command } }) => tool === 'shell_exec' && PROGRAMS.test(String(command)),
    ),
    solution: () => [...solution(), end],
  }
}

/** Programs that agents run in a sandbox only. */
const PROGRAMS = /^(node|sleep)\b/

/** Returns the files of a project whose tests run with `node --test`. */
export function project(files: Files): Files {
  const manifest = { name: 'project', type: 'module', private: true, scripts: { test: 'node --test' } }
  return { 'package.json': `${JSON.stringify(manifest, null, 2)}\n`, ...files }
}

/** Returns a test file for `node --test`. @param cases code of each test, by its name */
export function testFile(imports: string, cases: Files): string {
  const tests = Object.entries(cases).map(([name, code]) => `test('${name}', async () => {\n  ${code}\n})\n`)
  return `import assert from 'node:assert/strict'\nimport test from 'node:test'\n${imports}\n\n${tests.join('\n')}`
}

/** Returns a generator of integers from 0 to `below` - 1, the same for a seed on every machine. */
export function numbers(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761 + 1
  return below => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

export const read = (path: string): ToolUse => ({ tool: 'file_read', arguments: { path } })
export const list = (path = '.'): ToolUse => ({ tool: 'list_dir', arguments: { path } })
export const write = (path: string, content: string): ToolUse => ({ tool: 'file_write', arguments: { path, content } })
export const run = (command: string): ToolUse => ({ tool: 'shell_exec', arguments: { command } })
export const grep = (pattern: string, path = '.'): ToolUse => ({ tool: 'grep', arguments: { pattern, path } })
export const edit = (path: string, old_text: string, new_text: string): ToolUse => ({
  tool: 'file_edit',
  arguments: { path, old_text, new_text },
})

/** Passes if a command exits with 0. @param hidden files in a separate folder, which the command names as `{check}` */
export function passes(command: string, hidden: Files = {}): FolderTest {
  return async folder => (await folder.run(command, hidden)).code === 0
}

/** Passes if hidden tests pass. They import the agent's code from `../`. */
export function passesTests(imports: string, cases: Files): FolderTest {
  return passes('node --test {check}/hidden.test.js', { 'hidden.test.js': testFile(imports, cases) })
}

/** Passes if a file has exactly this text. */
export function fileEquals(path: string, text: string): FolderTest {
  return async folder => (await folder.file(path)) === text
}

/** Passes if the text of a file passes the test. */
export function fileMatches(path: string, test: (text: string) => boolean): FolderTest {
  return async folder => {
    const text = await folder.file(path)
    return text !== undefined && test(text)
  }
}

/** Passes if a file has this text, ignoring white space at the ends of lines and of the file. */
export function reads(path: string, wanted: string): FolderTest {
  return fileMatches(path, text => trimText(text) === trimText(wanted))
}

/** Passes if a file is JSON of this value. The order of keys does not matter. */
export function holdsJson(path: string, wanted: unknown): FolderTest {
  return fileMatches(path, text => {
    try {
      return canonical(JSON.parse(text)) === canonical(wanted)
    } catch {
      return false
    }
  })
}

export const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`
export const csv = (rows: readonly (readonly (string | number)[])[]): string =>
  `${rows.map(row => row.join(',')).join('\n')}\n`
export const pad = (n: number, width = 2): string => String(n).padStart(width, '0')

function trimText(text: string): string {
  return text
    .split('\n')
    .map(line => line.trimEnd())
    .join('\n')
    .trim()
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  )
}
