import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const ENGINE = fileURLToPath(new URL('../../../builtins/platform/store/sqlite/engine.ts', import.meta.url))
const MAJOR = Number(process.versions.node.split('.')[0])

/** Program with statements that are no longer referenced, and with garbage collected between two timers. */
const PROGRAM = `
  const { engine } = await import(${JSON.stringify(ENGINE)})
  const database = new (await engine())(':memory:')
  for (let n = 0; n < 2000; n++) database.prepare('SELECT ' + n)
  for (let n = 0; n < 20; n++) {
    Array.from({ length: 100_000 }, (_, n) => ({ n }))
    database.pragma('user_version', { simple: true })
    await new Promise(done => setTimeout(done, 50))
  }
  console.log('alive')
`

it.skipIf(MAJOR < 24)(
  'objects of SQLite may be garbage-collected while no script runs, and the process goes on',
  async () => {
    const words = ['--conditions=svc-source', '--import', 'tsx', '--input-type=module', '-e', PROGRAM]
    const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] })
    expect(await text(child.stdout)).toBe('alive\n')
  },
)
