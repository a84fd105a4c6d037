import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { FAST, project } from '../cli/project.ts'
import { bareEnvironment } from '../support/cli.ts'
import { modelServer, RunningSvc, text, toolCall } from '../support/index.ts'
import { EXAMPLES } from './example.ts'

const ROOT = resolve(EXAMPLES, '..')

type ProcessResult = { code: number; stdout: string; stderr: string }

/** Runs an example from its source, as a separate program. */
function run(name: string, ...words: string[]): Promise<ProcessResult> {
  return runWith({}, name, ...words)
}

async function runWith(env: Record<string, string>, name: string, ...words: string[]): Promise<ProcessResult> {
  const flags = ['--conditions=svc-source', '--import', 'tsx']
  return runNode([...flags, join(EXAMPLES, name), ...words], ROOT, { ...bareEnvironment(), ...env })
}

async function runNode(args: string[], cwd: string, env: NodeJS.ProcessEnv): Promise<ProcessResult> {
  const child = spawn(process.execPath, args, { cwd, env })
  const ran = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', text => {
      ran[stream] += text
    })
  }
  const [code] = (await once(child, 'close')) as [number]
  return { code, ...ran }
}

it('embedding: an agent reaches its first goal in a program, does a task and is killed, and the program ends', async () => {
  await using dir = await project(FAST)
  const { code, stdout, stderr } = await run('embedding.ts', dir.path)
  expect({ code, stderr }).toMatchObject({ code: 0, stderr: '' })
  const [lives, wants, reached, took, , left] = stdout.split(/\n+/)
  expect(lives).toMatch(/^spawned writer-[0-9a-f]{8}$/)
  expect(wants).toMatch(/^goal: .+/)
  expect(reached).toBe(wants!.replace('goal', 'completed'))
  expect(took).toMatch(/^that took \d+ cycles, \d+ tokens and \$0\.00$/)
  expect(stdout).toMatch(/\n0 agents are left\n$/)
  expect(left).toBeDefined()
})

it('agent: it calls its tools and reports its usage, simulated and with a model', async () => {
  const simulated = await run('agent.ts')
  expect(simulated).toMatchObject({ code: 0, stderr: '' })
  expect(simulated.stdout).toMatch(/^calls count_stock {"article":"bolts"}\nreads 120\n(.|\n)*sim\/rules-1: \d+ steps/)
  const replies = [toolCall('order', { article: 'nuts', pieces: 500 }), text('That is too many to order.')]
  await using model = await modelServer({ script: replies })
  const env = { OPENAI_BASE_URL: model.url, OPENAI_MODEL: 'scripted' }
  const { stdout } = await runWith(env, 'agent.ts', 'Order 500 nuts.')
  expect(stdout).toMatch(/at most 100\nThat is too many to order\.\nopenai:scripted: 2 steps, \d+ tokens, \$0\.0000\n$/)
})

it('agent: it runs in its folder with tsx alone, as its comment says', async () => {
  const { code, stdout, stderr } = await runNode(['--import', 'tsx', 'agent.ts'], EXAMPLES, bareEnvironment())
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain('reads 120')
})

it('structured: an object is extracted from a letter, or the error contains what the model said', async () => {
  const invoice = { from: 'Ada & Sons', due: '2027-05-01', lines: [{ what: 'bolts', euros: 6 }] }
  const script = [text('Six euros.'), text(JSON.stringify(invoice)), text('Six euros.'), text('Six.')]
  await using model = await modelServer({ script })
  const env = { OPENAI_BASE_URL: model.url, OPENAI_MODEL: 'scripted' }
  const good = await runWith(env, 'structured.ts')
  expect(good).toEqual({ code: 0, stderr: '', stdout: 'Ada & Sons gets 6 euros by 2027-05-01\n' })
  const bad = await runWith(env, 'structured.ts')
  expect(bad.stdout).toMatch(/it contains no JSON object\. The model said: Six\.\n$/)
})

it('HTTP client: it spawns, nudges and lists agents, prints events, and shows an error', async () => {
  await using dir = await project(FAST)
  await using server = new RunningSvc(['serve', '--port', '0'], { cwd: dir.path })
  const [, url] = await server.waitForOutput(/^Dashboard: +(http:\/\/127\.0\.0\.1:\d+)\/$/m)
  const { code, stdout } = await run('http-client.ts', url!)
  expect(code).toBe(0)
  expect(stdout).toMatch(
    /^spawned writer-[0-9a-f]{8}\nwriter: \w+\n1: agent_spawned\n(\d+: .+\n)*agent_not_found: No agent has the id or name "nobody"/,
  )
})

it('every example has a test', async () => {
  const files = (await readdir(EXAMPLES, { recursive: true })).filter(name => name.endsWith('.ts'))
  const here = import.meta.dirname
  const places = (await readdir(resolve(here, '..'), { recursive: true })).filter(name => name.endsWith('.test.ts'))
  const tests = await Promise.all(places.map(name => readFile(resolve(here, '..', name), 'utf8')))
  expect(files.filter(file => !tests.some(test => test.includes(`'${file}'`)))).toEqual([])
})
