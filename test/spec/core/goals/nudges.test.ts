import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import waking from '#platform/waking/index'
import { testHost, until } from '../../../support/index.ts'
import { goalAnswer } from '../../safety/approvals-host.ts'
import { AGENT_MODULES, spawn, testHostWithModel } from '../models/model-host.ts'

/** Opens a daemon on the system clock whose next heartbeat is a minute away. */
async function resting() {
  const home = await testHostWithModel(() => goalAnswer(''), {
    builtins: [waking],
    clock: 'system',
    config: { daemon: { heartbeat: 60, min_rest: 0 } },
  })
  const begun: string[] = []
  home.kernel.hooks.on('cycle_start', ({ agent_id }) => void begun.push(agent_id))
  const ids = [await spawn(home), await spawn(home)]
  home.kernel.heartbeat.start()
  await until(() => begun.length === 2 && home.kernel.heartbeat.inFlight.length === 0)
  begun.length = 0
  return Object.assign(home, { begun, ids, markers: join(home.root, '.svc', 'nudges') })
}

describe('a nudge', () => {
  it('from another process starts a cycle of its agent only, and leaves no marker behind', async () => {
    await using home = await resting()
    await using other = await testHost({
      builtins: [...AGENT_MODULES, waking],
      roles: ['cli'],
      root: home.root,
      clock: 'system',
    })
    const [id] = home.ids
    await other.kernel.invoke('agents.nudge', { id, message: 'look alive' })
    await until(() => home.begun.length === 1)
    expect(home.begun).toEqual([id])
    await until(async () => (await readdir(home.markers)).length === 0)
    await until(() => home.server.requests.some(({ prompt }) => prompt.includes('look alive')))
    await new Promise(resolve => setTimeout(resolve, 400))
    expect(home.begun).toHaveLength(1)
  })

  it('sent while no daemon runs leaves a marker, and is read once a daemon runs', async () => {
    await using home = await testHostWithModel(() => goalAnswer(''), {
      builtins: [waking],
      roles: ['cli'],
      clock: 'system',
    })
    const id = await spawn(home)
    const { nudge_id } = (await home.kernel.invoke('agents.nudge', { id, message: 'good morning' })) as {
      nudge_id: string
    }
    const markers = join(home.root, '.svc', 'nudges')
    expect(await readdir(markers)).toEqual([`${nudge_id}.json`])
    home.kernel.heartbeat.start()
    await until(() => home.server.requests.some(({ prompt }) => prompt.includes('good morning')))
    await until(async () => (await readdir(markers)).length === 0)
  })

  it("sent in the daemon's process needs no marker", async () => {
    await using home = await resting()
    await home.kernel.invoke('agents.nudge', { id: home.ids[0], message: 'look alive' })
    expect(await readdir(home.markers)).toEqual([])
    await until(() => home.begun.length === 1)
  })

  it('is delivered even when its marker cannot be written, and the log says so', async () => {
    await using home = await testHostWithModel(() => goalAnswer(''), {
      builtins: [waking],
      roles: ['cli'],
      clock: 'system',
    })
    const id = await spawn(home)
    await writeFile(join(home.root, '.svc', 'nudges'), 'a file where a folder belongs')
    await home.kernel.invoke('agents.nudge', { id, message: 'good morning' })
    expect(home.logged('no marker could be written')).toHaveLength(1)
    home.kernel.heartbeat.start()
    await until(() => home.server.requests.some(({ prompt }) => prompt.includes('good morning')))
  })
})

describe('the folder of markers', () => {
  it('a marker created by hand wakes all agents once and is removed', async () => {
    await using home = await resting()
    await writeFile(join(home.markers, 'now'), '')
    await until(() => home.begun.length === 2)
    expect(new Set(home.begun)).toEqual(new Set(home.ids))
    expect(await readdir(home.markers)).toEqual([])
  })

  it('many markers at once cause only a few wakes', async () => {
    await using home = await resting()
    await Promise.all(Array.from({ length: 200 }, (_, n) => writeFile(join(home.markers, `${n}.json`), '{}')))
    await until(async () => (await readdir(home.markers)).length === 0 && home.begun.length >= 2)
    await new Promise(resolve => setTimeout(resolve, 600))
    expect(home.begun.length).toBeLessThanOrEqual(8)
  })

  it('a folder among the markers is left alone and wakes no agent', async () => {
    await using home = await resting()
    await mkdir(join(home.markers, 'folder'))
    await new Promise(resolve => setTimeout(resolve, 500))
    expect(home.begun).toEqual([])
    expect(await readdir(home.markers)).toEqual(['folder'])
  })

  it('a symbolic link in place of the folder is never emptied', async () => {
    await using home = await testHostWithModel(() => goalAnswer(''), {
      builtins: [waking],
      clock: 'system',
      files: { 'precious/letter.txt': 'dear' },
    })
    await symlink(join(home.root, 'precious'), join(home.root, '.svc', 'nudges'))
    await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'cycle_end')
    await new Promise(resolve => setTimeout(resolve, 300))
    expect(await readdir(join(home.root, 'precious'))).toEqual(['letter.txt'])
  })
})
