import { describe, expect, it } from 'vitest'
import { SimulatedTime } from '../support/simulation/clock.ts'
import { Dice } from '../support/simulation/dice.ts'
import type { Access } from '../support/simulation/disk/access.ts'
import { Disk } from '../support/simulation/disk/disk.ts'

const well = () => undefined
const isAlive = () => true

describe('simulated time', () => {
  it('advances when nothing is left to do, and then to the next timer', async () => {
    const time = new SimulatedTime(new Dice(1, 'ties'))
    const clock = time.clockFor(isAlive)
    const seen: (string | number)[] = []
    const work = async () => {
      for (let n = 0; n < 100; n++) await Promise.resolve()
      seen.push('promises', clock.monotonic())
      await clock.sleep(3_600_000)
      seen.push('slept', clock.monotonic())
    }
    void work()
    await time.run(Number.POSITIVE_INFINITY)
    expect(seen).toEqual(['promises', 0, 'slept', 3_600_000])
  })

  it('fires no timer of a dead process', async () => {
    const time = new SimulatedTime(new Dice(1, 'ties'))
    let alive = true
    let woke = false
    void time
      .clockFor(() => alive)
      .sleep(10)
      .then(() => {
        woke = true
      })
    await time.run(5)
    alive = false
    await time.run(100)
    expect(woke).toBe(false)
  })
})

describe('the simulated disk', () => {
  it('behaves like a file system', async () => {
    const disk = new Disk(() => 0)
    const files = disk.filesFor('1', isAlive, well)
    await files.mkdir('/a/b', { recursive: true })
    await files.writeFile('/a/b/one', 'one\n')
    await files.appendFile('/a/b/one', 'two\n')
    await files.rename('/a/b/one', '/a/two')
    expect(await files.readFile('/a/two', 'utf8')).toBe('one\ntwo\n')
    expect(await files.readdir('/a')).toEqual(['b', 'two'])
    await expect(files.readFile('/a/b/one')).rejects.toMatchObject({ code: 'ENOENT', syscall: 'open' })
    await expect(files.writeFile('/a/two', '', { flag: 'wx' })).rejects.toMatchObject({ code: 'EEXIST' })
    const handle = await files.open('/a/two', 'r')
    const { bytesRead } = await handle.read(Buffer.alloc(3), 0, 3, 4)
    expect([bytesRead, (await handle.stat()).size]).toEqual([3, 8])
    await handle.close()
    await files.rm('/a', { recursive: true })
    expect(disk.paths()).toEqual([])
  })

  it('tears a write that fails, and keeps it after the process that wrote is gone', async () => {
    const disk = new Disk(() => 0)
    disk.put('/log', 'first\n')
    const fault = ({ op }: Access) => (op === 'write' ? { error: 'ENOSPC', written: 4 } : undefined)
    await expect(disk.filesFor('1', isAlive, fault).appendFile('/log', 'second\n')).rejects.toMatchObject({
      code: 'ENOSPC',
    })
    expect(await disk.filesFor('2', isAlive, well).readFile('/log', 'utf8')).toBe('first\nseco')
  })
})
