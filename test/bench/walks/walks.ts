/** `npm run walks`: measures how far data travels through the sources. */

import { parseArgs } from 'node:util'
import { BUILTINS } from '../../../builtins/index.ts'
import { Rest } from '../../../builtins/interfaces/rest/contract.ts'
import { modelServer, type TestHost, testHost, toolCall } from '../../support/index.ts'
import { Walk } from './walk.ts'

const HELP = `npm run walks -- [--files <walk>] [--steps <walk>] [--counts <walk>] [--json]

Runs five tasks twice and counts, the second time, the functions that each enters: a pursuit cycle that ends with a
request for approval, the approval over HTTP until it is committed, the cycle that runs the approved call, a nudge over
HTTP until it is committed, and a plugin file until its toolkit is live. All built-in modules are on.

--files <walk>   prints a walk's files, in the order in which they are entered
--steps <walk>   prints a walk, with the lines of the functions
--counts <walk>  prints how often a walk enters each function
--json           prints the figures, and the files of each walk in the order of its way, as JSON`

/** Target figures. */
const GOALS: Readonly<Record<string, string>> = {
  nudge: '22 files, 30 changes',
  pursuit: '80 files, 1,500 entries',
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
else print(await recordWalks())

/** Records each walk on its second run: the first one loads and compiles. */
async function recordWalks(): Promise<Walk[]> {
  const calls = [
    toolCall('file_write', { path: 'tide.md', content: 'low' }),
    toolCall('finish_goal', { summary: 'It is low.', evidence: ['tide.md'] }),
  ]
  await using server = await modelServer({ script: (_, n) => calls[n % 2] })
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
  // Ends a recording first of all handlers: the event is emitted after the commit.
  const first = { name: 'walk', stage: -100 }
  const { agent_id } = (await post('/agents', { preset: 'worker' })) as { agent_id: string }
  await post(`/agents/${agent_id}/goals`, { objective: 'Write down the tide.' })
  const ended: string[] = []
  kernel.hooks.on('cycle_end', each => void (each.agent_id === agent_id && ended.push(each.result)))
  // Each step runs one thing that is due: the daemon's own heartbeat, or the agent's cycle.
  const cycle = async (name: string, result: string) => {
    const before = ended.length
    let walk: Walk
    do {
      await clock.advance(1_000)
      walk = await Walk.record(name, () => kernel.heartbeat.step())
    } while (ended.length === before)
    if (ended.at(-1) !== result) throw new Error(`The cycle ended as ${ended.at(-1)}, not as ${result}.`)
    return walk
  }
  const pursuit = await cycle('pursuit', 'parked')
  const [asked] = (await (await fetch(`${url}/approvals`)).json()) as { approval_id: string }[]
  const approval = await Walk.record('approval', async end => {
    kernel.hooks.get('approval_resolved').tap(first, end)
    await post(`/approvals/${asked!.approval_id}`, { decision: 'approve' })
  })
  const resumed = await cycle('resumed', 'completed')
  const nudge = await Walk.record('nudge', async end => {
    kernel.hooks.get('nudge_received').tap(first, end)
    await post(`/agents/${agent_id}/nudge`, { message: 'Look at the spring tide too.' })
  })
  await kernel.invoke('agents.delete', { id: agent_id })
  return [nudge, pursuit, approval, resumed]
}

async function walkOfPlugin(host: TestHost, n: number): Promise<Walk> {
  await host.write({ [`plugins/tides-${n}.ts`]: PLUGIN(n) })
  return Walk.record('plugin', () => host.kernel.host.apply())
}

function print(walks: readonly Walk[]): void {
  const named = (name: string) => {
    const walk = walks.find(each => each.name === name)
    if (walk) return walk
    throw new Error(`There is no walk ${name}; there are ${walks.map(each => each.name).join(', ')}.`)
  }
  if (values.files) for (const file of named(values.files).files) console.log(file)
  if (values.steps) for (const step of named(values.steps).steps) console.log(step)
  if (values.counts) for (const [place, entries] of named(values.counts).counts) console.log(`${entries} ${place}`)
  const rows = walks.map(({ name, files, functions, entries, changes }) => {
    return { walk: name, files: files.length, functions, entries, changes, goal: GOALS[name] ?? '' }
  })
  if (values.json) console.log(JSON.stringify(rows.map((row, n) => ({ ...row, path: walks[n]!.path }))))
  else console.table(rows)
}
