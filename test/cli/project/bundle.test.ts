import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { RunningSvc } from '../../support/cli.ts'
import { svc } from '../../support/vitest/warm.ts'
import { FAST, project } from '../project.ts'

describe('svc agent export and import', () => {
  it('write an agent into a private file and create others from it, also while the daemon runs', async () => {
    await using dir = await project(FAST)
    await using other = await project(FAST)
    const cwd = dir.path
    await using daemon = new RunningSvc(['start', '-p', 'coder'], { cwd })
    await daemon.waitForOutput(/^Logs: /m)
    const file = join(cwd, 'coder.svcagent')
    const written = await svc(['agent', 'export', 'coder', '--output', file, '--json'], { cwd })
    expect(written).toMatchObject({ code: 0, stderr: '' })
    const { agent_id } = JSON.parse(written.stdout) as { agent_id: string }
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect((await svc(['agent', 'coder', '--json'], { cwd })).stdout).toContain(agent_id)

    const again = await svc(['agent', 'export', 'coder', '-o', file], { cwd })
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('was not overwritten') })
    expect((await svc(['agent', 'export', 'coder', '-o', file, '--force'], { cwd })).code).toBe(0)
    const printed = await svc(['agent', 'export', 'coder', '-o', '-'], { cwd })
    expect(JSON.parse(printed.stdout)).toMatchObject({ format: 'svc-agent', content: { agent: { agent_id } } })

    for (const at of [cwd, other.path]) {
      const made = await svc(['agent', 'import', file, '--json'], { cwd: at })
      expect(made).toMatchObject({ code: 0, stderr: '' })
      const { agent_id: id, was } = JSON.parse(made.stdout) as { agent_id: string; was: string }
      expect(was).toBe(agent_id)
      expect((await svc(['agent', id], { cwd: at })).code).toBe(0)
    }
    expect(await daemon.end('SIGTERM')).toBe(0)
    const kept = await svc(['checkpoints', agent_id], { cwd })
    expect(kept.stdout).toMatch(/^ckpt-[0-9a-f]{8} .* automatic .*"daemon_shutdown"$/m)

    const [id = ''] = /ckpt-[0-9a-f]{8}/.exec(kept.stdout) ?? []
    expect((await svc(['checkpoint', 'take', agent_id, 'for', 'later'], { cwd })).stdout).toContain('"for later"')
    expect((await svc(['checkpoint', 'diff', agent_id, id, 'latest'], { cwd })).code).toBe(0)
    const restored = (await svc(['checkpoint', 'restore', agent_id, id], { cwd })).stdout
    expect(restored).toContain(`was restored from ${id}`)
    expect(restored).toContain('Memories, messages and files stay as they are.')

    await dir.write({ 'half.svcagent': (await readFile(file, 'utf8')).slice(0, 500) })
    const half = await svc(['agent', 'import', 'half.svcagent'], { cwd })
    expect(half).toMatchObject({ code: 1, stderr: expect.stringContaining('is incomplete') })
    expect((await svc(['agent', 'import', 'none.svcagent'], { cwd })).stderr).toContain('does not exist')
  })
})
