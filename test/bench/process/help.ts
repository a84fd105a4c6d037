import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { project } from '../../cli/project.ts'
import { bareEnvironment, RunningSvc } from '../../support/cli.ts'
import { inTurn } from '../measures.ts'
import { program } from '../package.ts'
import { type Row, row } from '../row.ts'

const HOOK = fileURLToPath(new URL('../cpu-hook.cjs', import.meta.url))
const ROUNDS = 9

/** Measures the cost of short commands beyond Node's own start. */
export async function help(): Promise<Row[]> {
  await using dir = await project()
  await using daemon = new RunningSvc(['start', '--json'], { cwd: dir.path, program: await program() })
  await daemon.waitForOutput(/"event":"ready"/)
  return [await beyondNode(['--help'], dir.path, 100), await beyondNode(['status'], dir.path, 40)]
}

async function beyondNode(words: readonly string[], cwd: string, atMost: number): Promise<Row> {
  const svc = await program()
  const { a, b } = await inTurn(
    ROUNDS,
    () => costOf([svc, ...words], cwd),
    () => costOf(['-e', '0'], cwd),
  )
  return row({
    what: `svc ${words.join(' ')} beside a daemon, over node -e 0, processor time`,
    figure: a - b,
    unit: 'ms',
    baseline: b,
    ratio: a / b,
    aim: { atMost },
  })
}

/** Returns the processor time of one run of Node, from its start, in milliseconds. */
async function costOf(words: readonly string[], cwd: string): Promise<number> {
  const child = spawn(process.execPath, ['--require', HOOK, ...words], {
    cwd,
    env: bareEnvironment(),
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
  })
  let printed = ''
  child.stdio[3]!.on('data', text => {
    printed += text
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`node ${words.join(' ')} ended with ${code}`)
  return Number(printed) / 1000
}
