import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { inTurn } from '../measures.ts'
import { program } from '../package.ts'
import { type Row, row } from '../row.ts'

const HOOK = fileURLToPath(new URL('../cpu-hook.cjs', import.meta.url))
const ROUNDS = 9

/** Measures the cost of the command line's help beyond Node's own start. */
export async function help(): Promise<Row[]> {
  const svc = await program()
  const { a, b } = await inTurn(
    ROUNDS,
    () => costOf([svc, '--help']),
    () => costOf(['-e', '0']),
  )
  return [
    row({
      what: 'svc --help over node -e 0, processor time',
      ...{ figure: a - b, unit: 'ms', baseline: b, ratio: a / b, aim: { atMost: 100 } },
    }),
  ]
}

/** Returns the processor time of one run of Node, from its start, in milliseconds. */
async function costOf(words: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, ['--require', HOOK, ...words], {
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
