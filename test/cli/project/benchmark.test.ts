import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { BenchmarkReport } from '#lab/benchmark/contract'
import { RunningSvc } from '../../support/index.ts'
import { svc } from '../../support/vitest/warm.ts'
import { project } from '../project.ts'

describe('svc benchmark', () => {
  it('measures models, writes JSON and HTML reports, prints tables, and exits with 1 when a model is missing', async () => {
    await using dir = await project()
    const words = ['--models', 'sim:rules-1,nowhere:lite', '--scenarios', 'structured,goals', '-c', '2', '--seed', '1']
    const files = ['--output', 'report.json', '--html', 'report.html']
    const { code, stdout, stderr } = await svc(['benchmark', ...words, ...files], { cwd: dir.path })
    expect(code).toBe(1)
    expect(stderr.split('\n')).toEqual(
      expect.arrayContaining([
        'sim:rules-1: 2 runs, about 17k tokens, about $0.00',
        expect.stringMatching(/^nowhere:lite cannot be measured: "nowhere:lite" /),
        'sim:rules-1  goals 1/1  passed',
      ]),
    )
    expect(stdout).toMatch(/^2 scenarios, 1 run each, /m)
    expect(stdout).toMatch(/^goals +100 % \(1 of 1\)/m)
    expect(stdout).toContain('nowhere:lite was not measured')
    const report = JSON.parse(await readFile(join(dir.path, 'report.json'), 'utf8')) as BenchmarkReport
    expect(report.models.map(({ complete }) => complete)).toEqual([true, false])
    expect(await readFile(join(dir.path, 'report.html'), 'utf8')).toMatch(/^<!doctype html>[\s\S]*<svg /)
  })

  it('runs work goals by name and category, and shows the turns, tokens, cost and time of a run', async () => {
    await using dir = await project()
    const goals = ['--goals', 'join-orders', '--category', 'decide', '--repeat', '2', '--cycles', '1']
    const { stdout, stderr } = await svc(['benchmark', '--model', 'sim:rules-1', ...goals], { cwd: dir.path })
    expect(stderr).toMatch(/^sim:rules-1: (10|8) runs, /m)
    expect(stdout).toMatch(/^PER RUN \(10 TO 90 %\) +TURNS +TOKENS +COST +TIME$/m)
    expect(stdout).toMatch(/^decide +\d of \d \(\d+ to \d+ %\)$/m)
    expect(stdout).toMatch(/^join-orders +/m)
  })

  it('prints the results so far on Ctrl-C', async () => {
    await using dir = await project()
    const words = ['benchmark', '--models', 'sim:rules-1', '--task', 'Say hello', '--runs', '100']
    await using running = new RunningSvc(words, { cwd: dir.path })
    await running.waitForOutput(/task 2\/100 {2}passed/)
    expect(await running.end('SIGINT')).toBe(130)
    expect(running.stdout).toMatch(/^sim:rules-1 +100 % .* (\d+) of \1 /m)
    expect(running.stdout).toContain('sim:rules-1 was not measured to the end: the benchmark was interrupted')
  })

  it('prints JSON with --json and exits with 0', async () => {
    await using dir = await project()
    const task = ['benchmark', '--models', 'sim:rules-1', '--task', 'Say hello', '--json']
    const { code, stdout } = await svc(task, { cwd: dir.path })
    expect(code).toBe(0)
    expect((JSON.parse(stdout) as BenchmarkReport).models[0]!.passed).toBe(1)
  })

  it('reports errors in its arguments before any model call', async () => {
    await using dir = await project()
    const fails = async (...words: string[]) => {
      const { code, stderr } = await svc(['benchmark', ...words], { cwd: dir.path })
      return `${code} ${stderr.split('\n')[0]}`
    }
    expect(await fails()).toBe('2 svc: benchmark: the option --models is missing')
    expect(await fails('--models', 'sim:rules-1', '--runs', '0')).toMatch(
      /^2 svc: benchmark: .*whole number from 1 to 100/,
    )
    expect(await fails('--model', 'sim:rules-1', '--goals', 'fix-cvs')).toMatch(/^2 svc: .*did you mean "fix-csv"/)
    expect(await fails('--models', 'sim:rules-1', '--output', 'no/such/place.json')).toMatch(
      /^1 svc: .*cannot be written/,
    )
  })
})
