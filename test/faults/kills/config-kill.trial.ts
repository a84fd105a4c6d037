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

it('of what several processes write at once and got confirmed, nothing is lost, however they are killed', async () => {
  await using dir = await tempDir({ '.svc/config.yaml': '# ours\ncounts:\n  # kept\n  a: 0\n' })
  const file = join(dir.path, '.svc', 'config.yaml')
  const confirmed = new Map<string, number>(NAMES.map(name => [name, 0]))
  /** One life of a writer: it ends by being killed, some writes after it began, in the middle of whatever it is at. */
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
  // At most the one that it was at when it was killed came on top.
  for (const name of NAMES) {
    expect(counts[name]).toBeGreaterThanOrEqual(confirmed.get(name)!)
    expect(counts[name]).toBeLessThanOrEqual(confirmed.get(name)! + 1)
  }
  // Temporary files of the killed may lie about, but no lock that holds anybody up: the next writer gets through.
  const before = confirmed.get('a')!
  await live('a', 1)
  expect(confirmed.get('a')).toBeGreaterThan(before)
  expect((await readdir(join(dir.path, '.svc'))).filter(each => each.endsWith('.break'))).toEqual([])
}, 120_000)
