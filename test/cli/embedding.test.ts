import { describe, expect, it } from 'vitest'
import { Svc } from '../../index.ts'
import { RunningSvc } from '../support/cli.ts'
import { until } from '../support/until.ts'
import { FAST, project } from './project.ts'

const log = { level: 'silent' }

describe('inside a program of one’s own', () => {
  it('agents are spawned, live once it is started, and it all ends with the block', async () => {
    await using dir = await project(FAST)
    const goals: string[] = []
    {
      await using house = await Svc.open(dir.path, { log })
      house.kernel.hooks.on('goal_completed', ({ goal_id }) => goals.push(goal_id))
      const agent = await house.spawn('coder')
      expect(agent).toMatchObject({ name: 'coder', status: 'idle' })
      expect(await house.invoke('agents.status')).toMatchObject([{ agent_id: agent.agent_id }])
      await house.start()
      await until(() => goals.length > 0)
      expect(await house.invoke('daemon.status')).toMatchObject({ running: true, pid: process.pid })
    }
    await using again = await Svc.open(dir.path, { log })
    expect(await again.invoke('daemon.status')).toMatchObject({ running: false, health: 'stopped' })
  })

  it('it is refused while another process is the daemon', async () => {
    await using dir = await project(FAST)
    await using daemon = new RunningSvc(['start'], { cwd: dir.path })
    await daemon.says(/^Logs: /m)
    await using house = await Svc.open(dir.path, { log })
    await expect(house.start()).rejects.toThrow(`PID ${daemon.pid}`)
  })
})
