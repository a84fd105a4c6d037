import { join, relative } from 'node:path'
import { expect, it } from 'vitest'
import { TimeLimitError, withTimeLimit } from '#kernel'
import { keyedIds, keyedRandom } from '#lib/keyed-random'
import { systemPorts } from '#lib/system-ports'
import { freePort } from '../spec/tools/mcp-client/mcp-client-host.ts'
import { heldClock, tempDir, testHost } from '../support/index.ts'

it('keyed random numbers depend on their key only, not on the order in which they are read', () => {
  const keys = Array.from({ length: 50 }, (_, n) => ['ada', n] as const)
  const forwards = keyedRandom(7)
  const backwards = keyedRandom(7)
  const there = keys.map(key => forwards.number('mood', ...key))
  const back = [...keys]
    .reverse()
    .map(key => backwards.number('mood', ...key))
    .reverse()
  expect(back).toEqual(there)
  expect(new Set(there).size).toBe(50)
  expect(there.every(number => number >= 0 && number < 1)).toBe(true)
})

it('a different seed, stream or key gives a different random number', () => {
  const draws = [
    keyedRandom(7).number('mood', 'ada'),
    keyedRandom(8).number('mood', 'ada'),
    keyedRandom(7).number('luck', 'ada'),
    keyedRandom(7).number('mood', 'bob'),
    keyedRandom(7).number('mood', 'a', 'da'),
  ]
  expect(new Set(draws).size).toBe(draws.length)
})

it('keyed random numbers are evenly distributed', () => {
  const random = keyedRandom(1)
  const draws = Array.from({ length: 2000 }, (_, n) => random.number('even', n))
  const mean = draws.reduce((sum, number) => sum + number, 0) / draws.length
  expect(mean).toBeGreaterThan(0.47)
  expect(mean).toBeLessThan(0.53)
})

it('keyed ids repeat with the seed and are unique within it', () => {
  const makeIds = () => {
    const ids = keyedIds(keyedRandom(7))
    return Array.from({ length: 100 }, () => ids.make('goal', 8))
  }
  expect(makeIds()).toEqual(makeIds())
  expect(new Set(makeIds()).size).toBe(100)
  expect(makeIds()[0]).toMatch(/^goal-[0-9a-f]{8}$/)
})

it('a failed fetch says why, also for a name with several addresses', async () => {
  const { fetch } = systemPorts()
  const port = await freePort()
  await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow(/^fetch failed: connect ECONNREFUSED/)
  await expect(fetch(`http://localhost:${port}/`)).rejects.toThrow(/^fetch failed: .*ECONNREFUSED/)
})

it("the system's ids have the requested number of hex digits, also an odd one", () => {
  const { ids } = systemPorts()
  expect(ids.make('x', 7)).toMatch(/^x-[0-9a-f]{7}$/)
  expect(ids.make('x', 12)).not.toBe(ids.make('x', 12))
})

it("the system's ids of 12 digits and more ascend in long stretches, and successive ones look different", () => {
  const { ids } = systemPorts()
  const made = Array.from({ length: 1_000 }, (_, n) => ids.make('x', 12 + (n % 3)))
  const descents = made.filter((id, n) => n > 0 && id < made[n - 1]!)
  expect(descents.length).toBeLessThanOrEqual(1)
  const alike = made.filter((id, n) => n > 0 && id.slice(0, 13) === made[n - 1]!.slice(0, 13))
  expect(alike.length).toBeLessThan(100)
  expect(made[0]).toMatch(/^x-[0-9a-f]{12}$/)
  expect(made[2]).toMatch(/^x-[0-9a-f]{14}$/)
})

it('two processes that make ids in the same second make different ones', () => {
  const [one, other] = [systemPorts(), systemPorts()]
  const made = Array.from({ length: 3_000 }, () => [one.ids.make('goal', 12), other.ids.make('goal', 12)]).flat()
  expect(new Set(made).size).toBe(6_000)
})

it('a seed in the configuration seeds the random numbers, and an invalid one is refused with its variable', async () => {
  await using home = await testHost({ env: { SVC_SEED: '42' } })
  expect(home.kernel.ports.random.number('x')).toBe(keyedRandom(42).number('x'))
  await expect(testHost({ env: { SVC_SEED: '1.5' } })).rejects.toThrow(/environment variable SVC_SEED/)
})

it('a time limit ends a wait that hangs, and leaves no timer behind for work that finishes', async () => {
  const clock = heldClock()
  await expect(withTimeLimit(clock, 1000, 'Quick work', Promise.resolve('done'))).resolves.toBe('done')
  expect(clock.pending).toBe(0)
  const limited = withTimeLimit(clock, 1500, 'Slow work', new Promise(() => {}))
  const refused = expect(limited).rejects.toThrow('Slow work did not finish within 1.5 s.')
  await clock.advance(1500)
  await refused
  await expect(limited).rejects.toBeInstanceOf(TimeLimitError)
})

it('sleep ends at its time or at its abort signal, and never rejects', async () => {
  const clock = heldClock()
  const ended: string[] = []
  const abort = new AbortController()
  void clock.sleep(100).then(() => ended.push('time'))
  void clock.sleep(1e9, abort.signal).then(() => ended.push('signal'))
  await clock.advance(99)
  expect(ended).toEqual([])
  await clock.advance(1)
  expect(ended).toEqual(['time'])
  abort.abort()
  await clock.advance(0)
  expect(ended).toEqual(['time', 'signal'])
  expect(clock.pending).toBe(0)
  await clock.sleep(1e9, abort.signal)
})

it('the system clock sleeps as long as asked, agrees with the date, and fires no cancelled timer', async () => {
  const { clock } = systemPorts()
  const began = clock.monotonic()
  await clock.sleep(5)
  expect(clock.monotonic() - began).toBeGreaterThanOrEqual(4)
  expect(Math.abs(clock.now().getTime() - clock.ms())).toBeLessThan(1000)
  clock.after(0, () => expect.unreachable('a cancelled timer fired'))()
  await clock.sleep(1)
  await clock.yield()
})

it("files of the service's own behave as those of the thread pool do", async () => {
  const { files, ownFiles } = systemPorts()
  const use = async (fs: typeof files) => {
    await using dir = await tempDir()
    const at = (name: string) => join(dir.path, name)
    const said: unknown[] = []
    const say = (work: Promise<unknown>) =>
      work.then(
        found => said.push(found),
        ({ code, syscall }) => said.push([code, syscall]),
      )
    await say(fs.open(at('a'), 'r'))
    await say(fs.stat(at('a')))
    await say(fs.mkdir(at('x/y'), { mode: 0o700 }))
    await fs.mkdir(at('x/y'), { recursive: true, mode: 0o700 })
    const handle = await fs.open(at('a'), 'a+', 0o600)
    await handle.appendFile('one\ntwo\n')
    await handle.datasync()
    said.push((await handle.stat()).size, (await handle.stat()).mode)
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(10), 1, 3, 4)
    said.push(bytesRead, buffer.toString('latin1'))
    await handle.truncate(4)
    await handle.chmod(0o640)
    said.push((await handle.stat()).mode)
    await handle.sync()
    await handle.close()
    await say(fs.writeFile(at('a'), 'x', { flag: 'wx' }))
    await say(fs.appendFile(at('b'), 'three', { mode: 0o600 }))
    await say(fs.readFile(at('a'), 'utf8'))
    await say(fs.symlink('target', at('l')))
    await say(fs.symlink('other', at('l')))
    await say(fs.readlink(at('l')))
    await say(fs.lstat(at('l')).then(found => found.isSymbolicLink()))
    await say(fs.rename(at('b'), at('x/c')))
    await say(fs.rename(at('b'), at('x/c')))
    await say(fs.realpath(at('x/../x')).then(path => relative(dir.path, path)))
    await say(fs.realpath(at('nothing')))
    await say(fs.rm(at('nothing')))
    await say(fs.rm(at('nothing'), { force: true }))
    await say(fs.rm(at('x'), { recursive: true }))
    await say(fs.readdir(dir.path))
    return said
  }
  expect(ownFiles).not.toBe(files)
  expect(await use(ownFiles)).toEqual(await use(files))
  expect(systemPorts({ files }).ownFiles).toBe(files)
})
