import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { FAST, project } from '../cli/project.ts'
import { RunningSvc } from '../support/index.ts'
import { EXAMPLES } from './example.ts'

const ROOT = resolve(EXAMPLES, '..')

/** Runs an example from its source, as a program of its own. */
async function run(name: string, ...words: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const flags = ['--conditions=svc-source', '--import', 'tsx']
  const child = spawn(process.execPath, [...flags, join(EXAMPLES, name), ...words], { cwd: ROOT })
  const ran = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', text => {
      ran[stream] += text
    })
  }
  const [code] = (await once(child, 'close')) as [number]
  return { code, ...ran }
}

it('embedding: an agent lives inside a program until its first goal, and the program ends', async () => {
  await using dir = await project(FAST)
  const { code, stdout, stderr } = await run('embedding.ts', dir.path)
  expect({ code, stderr }).toMatchObject({ code: 0, stderr: '' })
  expect(stdout).toMatch(/^writer-[0-9a-f]{8} lives\nit reached its first goal: .+\n$/)
})

it('HTTP client: it spawns, nudges, lists and tells what happened, and shows what an error looks like', async () => {
  await using dir = await project(FAST)
  await using server = new RunningSvc(['serve', '--port', '0'], { cwd: dir.path })
  const [, url] = await server.says(/^Dashboard: +(http:\/\/127\.0\.0\.1:\d+)\/$/m)
  const { code, stdout } = await run('http-client.ts', url!)
  expect(code).toBe(0)
  expect(stdout).toMatch(
    /^spawned writer-[0-9a-f]{8}\nwriter: \w+\n1: agent_spawned\n(\d+: .+\n)*agent_not_found: No agent has the id or name "nobody"/,
  )
})

it('every example has a test', async () => {
  const files = (await readdir(EXAMPLES, { recursive: true })).filter(name => name.endsWith('.ts'))
  const { readFile } = await import('node:fs/promises')
  const tests = await Promise.all(
    ['plugins.test.ts', 'programs.test.ts'].map(name => readFile(join(import.meta.dirname, name), 'utf8')),
  )
  expect(files.filter(file => !tests.some(test => test.includes(`'${file}'`)))).toEqual([])
})
