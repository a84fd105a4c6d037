import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { BenchmarkReport } from '#lab/benchmark/contract'
import { svc } from '../../support/vitest/warm.ts'
import { project } from '../project.ts'

describe('svc benchmark', () => {
  it('measures models, writes JSON and a page, prints tables, and exits 1 when one was not there', async () => {
    await using dir = await project()
    const words = ['--models', 'sim:rules-1,nobody:lite', '--scenarios', 'structured,goals', '-c', '2', '--seed', '1']
    const files = ['--output', 'report.json', '--html', 'report.html']
    const { code, stdout, stderr } = await svc(['benchmark', ...words, ...files], { cwd: dir.path })
    expect({ code, stderr: stderr.split('\n')[0] }).toEqual({ code: 1, stderr: 'sim:rules-1  goals 1/1  passed' })
    expect(stdout).toMatch(/^goals +100 % \(1 of 1\)/m)
    expect(stdout).toContain('nobody:lite was not measured')
    const report = JSON.parse(await readFile(join(dir.path, 'report.json'), 'utf8')) as BenchmarkReport
    expect(report.models.map(({ complete }) => complete)).toEqual([true, false])
    expect(await readFile(join(dir.path, 'report.html'), 'utf8')).toMatch(/^<!doctype html>[\s\S]*<svg /)
  })

  it('answers programs with JSON and 0', async () => {
    await using dir = await project()
    const task = ['benchmark', '--models', 'sim:rules-1', '--task', 'Say hello', '--json']
    const { code, stdout } = await svc(task, { cwd: dir.path })
    expect(code).toBe(0)
    expect((JSON.parse(stdout) as BenchmarkReport).models[0]!.passed).toBe(1)
  })

  it('says what is wrong with its words, before anything is asked or spent', async () => {
    await using dir = await project()
    const fails = async (...words: string[]) => {
      const { code, stderr } = await svc(['benchmark', ...words], { cwd: dir.path })
      return `${code} ${stderr.split('\n')[0]}`
    }
    expect(await fails()).toBe('2 svc: benchmark: the option --models is missing')
    expect(await fails('--models', 'sim:rules-1', '--runs', '0')).toMatch(
      /^2 svc: benchmark: .*whole number from 1 to 100/,
    )
    expect(await fails('--models', 'sim:rules-1', '--output', 'no/such/place.json')).toMatch(
      /^1 svc: .*cannot be written/,
    )
  })
})
