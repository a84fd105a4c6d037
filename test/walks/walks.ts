/** `npm run walks`: how far data goes through the sources. */

import { parseArgs } from 'node:util'
import { BUILTINS } from '../../builtins/index.ts'
import { Rest } from '../../builtins/interfaces/rest/contract.ts'
import { modelServer, type TestHost, testHost, toolCall } from '../support/index.ts'
import { Walk } from './walk.ts'

const HELP = `npm run walks -- [--files <walk>] [--steps <walk>] [--counts <walk>] [--json]

Runs four tasks twice and counts, the second time, the functions that each enters: a nudge over HTTP until it is
committed, a pursuit cycle that ends with a request for approval, the approval over HTTP, and a plugin file until its
toolkit is live. It fails where a walk is longer than its aim.

--files <walk>   prints a walk's files, in the order in which they are entered
--steps <walk>   prints a walk, with the lines of the functions
--counts <walk>  prints how often a walk enters each function
--json           prints the figures as JSON`

/** The most that a walk may take. */
const AIMS: Readonly<Record<string, Partial<Record<'files' | 'entries' | 'changes', number>>>> = {
  nudge: { files: 22, changes: 30 },
  pursuit: { files: 80, entries: 1_500 },
}

const PLUGIN = (n: number) => `import { definePlugin, tool, z } from 'svc'
export default definePlugin({
  name: 'tides-${n}',
  setup(svc) {
    const now = tool({ name: 'tide_now_${n}', description: 'The tide.', parameters: z.object({}), execute: () => 'low' })
    svc.toolkit({ name: 'tides-${n}', tools: [now] })
  },
})`

const { values } = parseArgs({
  options: {
    files: { type: 'string' },
    steps: { type: 'string' },
    counts: { type: 'string' },
    json: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  },
})
if (values.help) console.log(HELP)
else process.exitCode = print(await recordWalks())

/** Records each walk the second time that it is gone: the first one loads and compiles. */
async function recordWalks(): Promise<Walk[]> {
  await using server = await modelServer({ script: () => toolCall('file_write', { path: 'a.md', content: 'tide' }) })
  await using host = await testHost({
    builtins: BUILTINS,
    roles: ['server'],
    config: { approval: { enabled: true, require_for: ['file_write'] } },
    files: { 'profiles/worker.yaml': 'name: worker\nrole: writes down the tide\n' },
    env: { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'key', OPENAI_MODEL: 'scripted' },
  })
  const { url } = await host.kernel.use(Rest).listen({ host: '127.0.0.1', port: 0 })
  await walksOfAgent(host, url)
  const walks = await walksOfAgent(host, url)
  await walkOfPlugin(host, 1)
  return [...walks, await walkOfPlugin(host, 2)]
}

async function walksOfAgent({ kernel, clock }: TestHost, url: string): Promise<Walk[]> {
  const post = async (path: string, body: object): Promise<unknown> => {
    const headers = { 'content-type': 'application/json', connection: 'close' }
    const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${await response.text()}`)
    return response.json()
  }
  const { agent_id } = (await post('/agents', { preset: 'worker' })) as { agent_id: string }
  await post(`/agents/${agent_id}/goals`, { objective: 'Write down the tide.' })
  const ended: string[] = []
  kernel.hooks.on('cycle_end', each => void (each.agent_id === agent_id && ended.push(each.result)))
  // Each step runs one thing that is due: the daemon's own heartbeat, or the agent's cycle.
  let pursuit: Walk
  do {
    await clock.advance(1_000)
    pursuit = await Walk.record('pursuit', () => kernel.heartbeat.step())
  } while (ended.length === 0)
  if (ended[0] !== 'parked') throw new Error(`The cycle ended as ${ended[0]}, not as parked.`)
  const [asked] = (await (await fetch(`${url}/approvals`, { headers: { connection: 'close' } })).json()) as {
    approval_id: string
  }[]
  const approval = await Walk.record('approval', async end => {
    kernel.hooks.on('approval_resolved', end)
    await post(`/approvals/${asked!.approval_id}`, { decision: 'approve' })
  })
  const nudge = await Walk.record('nudge', async end => {
    kernel.hooks.on('nudge_received', end)
    await post(`/agents/${agent_id}/nudge`, { message: 'Look at the spring tide too.' })
  })
  await kernel.invoke('agents.delete', { id: agent_id })
  return [nudge, pursuit, approval]
}

async function walkOfPlugin(host: TestHost, n: number): Promise<Walk> {
  await host.write({ [`plugins/tides-${n}.ts`]: PLUGIN(n) })
  return Walk.record('plugin', () => host.kernel.host.apply())
}

/** @returns the exit code */
function print(walks: readonly Walk[]): number {
  const named = (name: string) => {
    const walk = walks.find(each => each.name === name)
    if (walk) return walk
    throw new Error(`There is no walk ${name}; there are ${walks.map(each => each.name).join(', ')}.`)
  }
  if (values.files) for (const file of named(values.files).files) console.log(file)
  if (values.steps) for (const step of named(values.steps).steps) console.log(step)
  if (values.counts) for (const [place, entries] of named(values.counts).counts) console.log(`${entries} ${place}`)
  const rows = walks.map(({ name, files, functions, entries, changes }) => {
    const figures = { files: files.length, functions, entries, changes }
    const aim = AIMS[name] ?? {}
    const missed = Object.entries(aim).filter(([what, most]) => figures[what as keyof typeof figures] > most)
    return { walk: name, ...figures, missed: missed.map(([what, most]) => `${what} > ${most}`).join(', ') }
  })
  if (values.json) console.log(JSON.stringify(rows))
  else console.table(rows)
  return rows.some(({ missed }) => missed !== '') ? 1 : 0
}
