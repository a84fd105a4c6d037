import { appendFile, open, readdir, readFile, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openJournal } from '#interfaces/cli/process/journal'
import { LogFile } from '#interfaces/cli/process/log-file'
import { Terminal } from '#interfaces/cli/screen/terminal'
import { systemPorts } from '#lib/system-ports'
import { tempDir } from '../../support/temp.ts'
import { until } from '../../support/until.ts'

const MIB = 1024 * 1024
const line = (writer: string, n: number) => `${JSON.stringify({ writer, n, msg: 'x'.repeat(1000) })}\n`
// Suppresses the echo of its lines, as in a process detached from its terminal.
const ports = { ...systemPorts(), env: { SVC_DETACHED: '1' } }

it('a full log is rotated while processes write to it, and no line is lost', async () => {
  await using dir = await tempDir()
  const terminal = new Terminal({})
  const writers = await Promise.all(
    ['a', 'b'].map(async name => ({ name, log: await openJournal(ports, dir.path, terminal) })),
  )
  const logs = join(dir.path, 'logs')
  const count = 12_000
  for (let n = 0; n < count; n++) {
    for (const { name, log } of writers) log.write(line(name, n))
    // Pauses, so as not to write faster than a disk accepts.
    if (n % 20 === 0) await new Promise(resolve => setTimeout(resolve, 2))
  }
  for (const { log } of writers) await log.close()
  const names = (await readdir(logs)).sort()
  expect(names).toContain('svc.log.1')
  expect(names.filter(name => name.endsWith('.lock'))).toEqual([])
  const lines = (await Promise.all(names.map(name => readFile(join(logs, name), 'utf8')))).flatMap(text =>
    text.split('\n').filter(Boolean),
  )
  expect(lines).toHaveLength(2 * count)
  expect(new Set(lines.map(each => each.slice(0, 30))).size).toBe(2 * count)
  for (const name of names) expect((await stat(join(logs, name))).size).toBeLessThan(15 * MIB)
})

it('five rotated logs are kept, and the oldest are deleted first', async () => {
  await using dir = await tempDir()
  await dir.write({ 'logs/svc.log': '' })
  for (let round = 1; round <= 7; round++) {
    const handle = await open(join(dir.path, 'logs/svc.log'), 'a')
    await handle.writeFile(`${round}`.padEnd(11 * MIB))
    await handle.close()
    const log = await openJournal(ports, dir.path, new Terminal({}))
    await log.close()
  }
  const names = (await readdir(join(dir.path, 'logs'))).sort()
  expect(names).toEqual(['svc.log', 'svc.log.1', 'svc.log.2', 'svc.log.3', 'svc.log.4', 'svc.log.5'])
  const first = await Promise.all(
    names.slice(1).map(async name => (await readFile(join(dir.path, 'logs', name), 'utf8'))[0]),
  )
  expect(first).toEqual(['7', '6', '5', '4', '3'])
})

it('a log that was moved away is created again', async () => {
  await using dir = await tempDir()
  const log = await openJournal(ports, dir.path, new Terminal({}))
  await rename(join(dir.path, 'logs/svc.log'), join(dir.path, 'logs/moved.log'))
  await until(async () => {
    log.write(line('a', 0).repeat(70))
    return (await readdir(join(dir.path, 'logs'))).includes('svc.log')
  })
  await log.close()
})

it('a follower of a log that is rotated reads all of its lines, and then those of the next', async () => {
  await using dir = await tempDir()
  const file = join(dir.path, 'logs/svc.log')
  const count = 3_000
  await dir.write({ 'logs/svc.log': '' })
  const log = new LogFile(dir.path, ports)
  const { at } = await log.tail(1, () => true)
  await appendFile(file, Array.from({ length: count }, (_, n) => line('a', n)).join(''))
  await rename(file, `${file}.1`)
  await dir.write({ 'logs/svc.log': line('b', 0) })
  const writers: string[] = []
  const stop = new AbortController()
  for await (const each of log.follow(at, stop.signal)) {
    writers.push(JSON.parse(each).writer)
    if (writers.at(-1) === 'b') stop.abort()
  }
  expect(writers).toEqual([...Array(count).fill('a'), 'b'])
})
