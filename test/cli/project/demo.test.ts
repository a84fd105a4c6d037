import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { RunningSvc } from '../../support/cli.ts'
import { tempDir } from '../../support/temp.ts'
import { svc } from '../../support/vitest/warm.ts'

describe('svc demo', () => {
  it('lists the demos, also where there is no project', async () => {
    await using dir = await tempDir()
    const { code, stdout, stderr } = await svc(['demo'], { cwd: dir.path })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^survival {2}/m)
    expect(stdout).toMatch(/--case lighthouse/)
  })

  it('plays a demo: events go to standard error, the report to standard output and into files', async () => {
    await using dir = await tempDir()
    const words = ['demo', 'detective', '--case', 'orchids', '--seed', '5', '-o', 'report.md', '--html', 'report.html']
    const { code, stdout, stderr } = await svc(words, { cwd: dir.path })
    expect(code).toBe(0)
    expect(stderr).toMatch(/^Round 4 of 4\n {2}Clue: /m)
    expect(stderr).not.toContain('\x1b')
    expect(stdout).toMatch(/^# Poison in the palm house\n\n.*simulated, not an AI model\\?/)
    expect(await readFile(join(dir.path, 'report.md'), 'utf8')).toBe(stdout)
    expect(await readFile(join(dir.path, 'report.html'), 'utf8')).toMatch(/^<!doctype html>[\s\S]*<svg /)
    expect(await readdir(dir.path)).toEqual(['report.html', 'report.md'])
  })

  it('ends at once when interrupted, cleanly and without a report', async () => {
    await using dir = await tempDir()
    const env = { TMPDIR: dir.path }
    await using demo = new RunningSvc(['demo', 'survival', '--cycles', '300', '--seed', '7'], { cwd: dir.path, env })
    // With another seed, nothing may happen on the first day.
    await demo.waitForOutput(/^Day \d+ {2}/m)
    expect(await demo.end('SIGINT')).toBe(130)
    expect(demo.stdout).toBe('')
    expect(demo.stderr).toContain('stopped before its end')
    expect(await readdir(dir.path)).toEqual([])
  })

  it('reports an unknown demo and names the possible ones', async () => {
    await using dir = await tempDir()
    const fails = await svc(['demo', 'surival'], { cwd: dir.path })
    expect(fails.code).toBe(2)
    expect(fails.stderr).toContain('must be one of survival, detective')
  })
})
