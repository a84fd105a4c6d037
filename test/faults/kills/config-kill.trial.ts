import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { tempDir } from '../../support/index.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const WRITER = fileURLToPath(new URL('config-writer.ts', import.meta.url))
const NAMES = ['a', 'b', 'c', 'd'] as const
const KILLS = 6

it('several processes that write at once lose nothing that was confirmed, however they are killed', async () => {
  await using dir = await tempDir({ '.svc/config.yaml': '# ours\ncounts:\n  # kept\n  a: 0\n' })
  const file = join(dir.path, '.svc', 'config.yaml')
  const confirmed = new Map<string, number>(NAMES.map(name => [name, 0]))
  /** Runs a writer and kills it after some writes, in the middle of whatever it does. */
  const live = async (name: string, writes: number) => {
    const words = ['--conditions=svc-source', '--import', 'tsx', WRITER, file, name, String(confirmed.get(name))]
    const child = spawn(process.execPath, words, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] })
    let confirmations = 0
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const numbers = text.trim().split('\n').map(Number)
      confirmed.set(name, Math.max(confirmed.get(name)!, ...numbers))
      confirmations += numbers.length
      if (confirmations >= writes) child.kill('SIGKILL')
    })
    const [code, signal] = await once(child, 'close')
    expect([code, signal, confirmations >= writes]).toEqual([null, 'SIGKILL', true])
  }
  await Promise.all(
    NAMES.map(async (name, at) => {
      for (let kill = 0; kill < KILLS / 2; kill++) await live(name, 3 + ((at * 7 + kill * 5) % 11))
    }),
  )
  const text = await readFile(file, 'utf8')
  expect(text).toMatch(/^# ours\ncounts:\n {2}# kept\n {2}a: \d+\n/)
  const counts = parse(text).counts as Record<string, number>
  // At most one write, in progress at the kill, is there without a confirmation.
  for (const name of NAMES) {
    expect(counts[name]).toBeGreaterThanOrEqual(confirmed.get(name)!)
    expect(counts[name]).toBeLessThanOrEqual(confirmed.get(name)! + 1)
  }
  // Temporary files of killed writers may remain, but no lock that blocks the next writer.
  const before = confirmed.get('a')!
  await live('a', 1)
  expect(confirmed.get('a')).toBeGreaterThan(before)
  expect((await readdir(join(dir.path, '.svc'))).filter(each => each.endsWith('.break'))).toEqual([])
}, 120_000)
