import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { Journal } from '#core/memory/files/journal'
import { Memories } from '#core/memory/memories'
import { systemPorts } from '#lib/system-ports'
import { tempDir } from '../../support/index.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const WRITER = fileURLToPath(new URL('memory-writer.ts', import.meta.url))
const NAMES = ['ox', 'elk']
const LIVES = 3

it('memories that killed processes confirmed as stored or forgotten are neither lost nor doubled', async () => {
  await using dir = await tempDir()
  const file = join(dir.path, 'memory', 'memories.jsonl')
  const confirmed = new Map(
    NAMES.map(name => [name, { stored: 0, forgotten: new Set<number>(), unsure: new Set<number>() }]),
  )
  /** Runs a writer and kills it after some lines, in the middle of whatever it does. */
  const live = async (name: string, lines: number) => {
    const { forgotten, unsure } = confirmed.get(name)!
    const from = String(confirmed.get(name)!.stored + 1)
    const child = spawn(process.execPath, ['--conditions=svc-source', '--import', 'tsx', WRITER, file, name, from], {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
      if (output.split('\n').length > lines) child.kill('SIGKILL')
    })
    const [code, signal] = await once(child, 'close')
    expect([code, signal]).toEqual([null, 'SIGKILL'])
    for (const line of output.split('\n').slice(0, -1)) {
      const n = Number(line.slice(1))
      if (line.startsWith('+')) confirmed.get(name)!.stored = n
      else forgotten.add(n)
    }
    // The last memory to be forgotten may be gone, but that is not confirmed.
    const { stored } = confirmed.get(name)!
    if (stored % 3 === 0 && !forgotten.has(stored)) unsure.add(stored)
  }
  await Promise.all(
    NAMES.map(async (name, at) => {
      for (let life = 0; life < LIVES; life++) await live(name, 18 + ((at * 7 + life * 5) % 11))
    }),
  )
  const ports = systemPorts()
  const warnings: string[] = []
  const log = { warn: (_: object, message: string) => warnings.push(message) } as never
  const memories = new Memories(new Journal(file, { ports, log }), ports)
  const kept = (await memories.recent(Number.POSITIVE_INFINITY)).map(({ memory_id }) => memory_id)
  expect(new Set(kept).size).toBe(kept.length)
  for (const [name, { stored, forgotten, unsure }] of confirmed) {
    expect(stored).toBeGreaterThan(30)
    for (let n = 1; n <= stored; n++) {
      if (unsure.has(n)) continue
      expect([`${name}-${n}`, kept.includes(`${name}-${n}`)]).toEqual([`${name}-${n}`, !forgotten.has(n)])
    }
    // At most one memory, in progress at the kill, is there without a confirmation.
    const beyond = kept.filter(id => id.startsWith(`${name}-`) && Number(id.slice(name.length + 1)) > stored)
    expect(beyond.length).toBeLessThanOrEqual(1)
  }
  // A search finds what is there, and no lock of a killed writer is in the way.
  const found = await memories.search('what ox has to remember of number 31', 1)
  expect(found.map(({ memory_id }) => memory_id)).toEqual(['ox-31'])
  await memories.store('still writable')
  expect((await readdir(join(dir.path, 'memory'))).filter(each => each.endsWith('.lock'))).toEqual([])
}, 120_000)
