import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, expect, it } from 'vitest'
import file from '#tools/toolkits/file/index'
import { hands, type ToolHost } from '../../spec/tools/tool-host.ts'
import { trialCount } from '../../support/vitest/trial-count.ts'

const ROUNDS = trialCount(2_000, 400)
/** Number of simultaneous calls in each round. */
const CALLS = 5
const SECRET = 'the secret outside'
/** Swaps a folder for a link to the outside and back, and a file for a link to the secret, as fast as possible. */
const SWAPPER = `
const { renameSync } = require('node:fs')
const { parentPort, workerData: { at, going } } = require('node:worker_threads')
const go = new Int32Array(going)
const name = which => at + '/' + which
const tried = work => { try { work(); return 1 } catch { return 0 } }
let swaps = 0
while (Atomics.load(go, 0) === 1) {
  for (const what of ['folder', 'file']) {
    tried(() => renameSync(name(what), name(what + '.kept')))
    swaps += tried(() => renameSync(name(what + '.link'), name(what)))
    tried(() => renameSync(name(what), name(what + '.link')))
    tried(() => renameSync(name(what + '.kept'), name(what)))
  }
}
parentPort.postMessage(swaps)
`

let home: ToolHost
beforeEach(async () => {
  home = await hands({ builtins: [file], config: { tools: { sandbox: 'off' } } })
  await home.write({ 'outside/secret.txt': SECRET })
  const at = (...names: string[]) => join(home.workspace, ...names)
  await mkdir(at('folder'))
  await writeFile(at('folder/secret.txt'), 'inside')
  await writeFile(at('file'), 'inside')
  await symlink(join(home.root, 'outside'), at('folder.link'))
  await symlink(join(home.root, 'outside/secret.txt'), at('file.link'))
})
afterEach(() => home.close())

it(`${ROUNDS * CALLS} calls of the file tools while another thread swaps links never leave the workspace`, async () => {
  const going = new SharedArrayBuffer(4)
  const go = new Int32Array(going)
  Atomics.store(go, 0, 1)
  const swapper = new Worker(SWAPPER, { eval: true, workerData: { at: home.workspace, going } })
  const swaps = new Promise<number>(resolve => swapper.once('message', resolve))
  const counts = { inside: 0, refused: 0, other: 0 }
  let tries = 0
  for (let round = 0; round < ROUNDS; round++) {
    const writes: [string, Record<string, unknown>][] = [
      ['file_write', { path: 'folder/planted.txt', content: 'planted' }],
      ['file_write', { path: `folder/new-${round}/planted.txt`, content: 'planted' }],
      ['file_edit', { path: 'folder/secret.txt', old_text: 'inside', new_text: 'inside.' }],
    ]
    const answers = await Promise.all([
      home.use('file_read', { path: 'folder/secret.txt' }),
      home.use('file_read', { path: 'file' }),
      home.use('file_edit', { path: 'file', old_text: SECRET, new_text: 'stolen' }),
      home.use('list_dir', { path: 'folder', limit: 3 }),
      home.use(...writes[round % 3]!),
    ])
    tries += answers.length
    for (const answer of answers) {
      expect(answer).not.toContain(SECRET)
      if (answer.includes('outside your workspace')) counts.refused++
      else if (answer.startsWith('error')) counts.other++
      else counts.inside++
    }
  }
  Atomics.store(go, 0, 0)
  console.log(`${tries} tries during ${await swaps} swaps: ${JSON.stringify(counts)}`)
  expect(tries).toBe(ROUNDS * CALLS)
  expect(await swaps).toBeGreaterThan(ROUNDS / 2)
  expect(counts.refused).toBeGreaterThan(0)
  expect(counts.inside).toBeGreaterThan(0)
  expect(await readdir(join(home.root, 'outside'))).toEqual(['secret.txt'])
  expect(await readFile(join(home.root, 'outside/secret.txt'), 'utf8')).toBe(SECRET)
}, 240_000)
