import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { AgentSummary } from '#core/agents/contract'
import type { Goal } from '#core/goals/contract'
import {
  type ModelServerRequest,
  modelServer,
  RunningSvc,
  svc,
  tempDir,
  text,
  toolCall,
  until,
} from '../../support/index.ts'
import { STAMP, stampsIn } from '../stamps.ts'

const NAMES = ['alpha', 'beta', 'gamma']
const STAMPS = 4

/** Script of one goal for each agent: some stamps, a report, the end. Reads the progress from the conversation. */
function script() {
  const given = new Set<string>()
  return ({ body, prompt }: ModelServerRequest) => {
    const name = NAMES.find(each => prompt.includes(`You are ${each}.`)) as string
    if (prompt.includes('"goal":')) {
      if (given.has(name)) return text('{"goal": ""}')
      given.add(name)
      return text(JSON.stringify({ goal: `Stamp four times and report, as ${name} does` }))
    }
    const done = body.messages.filter(message => message.role === 'tool').length
    if (done < STAMPS) return toolCall('stamp', { n: done })
    if (done === STAMPS) return toolCall('file_write', { path: 'report.md', content: `${name} stamped` })
    return toolCall('finish_goal', { summary: `${name} has stamped`, evidence: ['report.md'] })
  }
}

it('three agents complete their goals although the daemon is killed halfway, and nothing is done twice', async () => {
  await using dir = await tempDir()
  const server = await modelServer({ script: script() })
  const env = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'test-key', OPENAI_MODEL: 'scripted' }
  const options = { cwd: dir.path, env }
  expect((await svc(['init', '--quiet'], options)).code).toBe(0)
  await dir.write({
    'plugins/stamp.ts': STAMP,
    ...Object.fromEntries(NAMES.map(name => [`profiles/${name}.yaml`, `name: ${name}\nrole: stamps\n`])),
  })
  await using first = new RunningSvc(['start', '-p', NAMES.join(','), '--heartbeat', '0.2'], options)
  await until(async () => (await stampsIn(dir.path)).length >= 5)
  expect(await first.end('SIGKILL')).toBeNull()

  await using web = new RunningSvc(['serve', '--port', '0'], options)
  const [, url] = await web.waitForOutput(/(http:\/\/127\.0\.0\.1:\d+)/)
  const get = async <T>(path: string) => (await fetch(`${url}${path}`).then(answer => answer.json())) as T
  const agents = await get<AgentSummary[]>('/agents')
  expect(agents.map(agent => agent.name)).toEqual(NAMES)
  const goals = () => Promise.all(agents.map(({ agent_id }) => get<Goal[]>(`/agents/${agent_id}/goals`)))
  const before = (await goals()).flat()
  expect(before.some(goal => goal.status === 'active')).toBe(true)

  await using second = new RunningSvc(['start'], options)
  await until(async () => (await goals()).every(list => list[0]?.status === 'completed'))
  const after = (await goals()).flat()
  expect(after).toHaveLength(3)
  for (const { goal_id } of before) expect(after.map(goal => goal.goal_id)).toContain(goal_id)

  const all = (await stampsIn(dir.path)).map(({ agent_id, n }) => `${agent_id} ${n}`)
  expect(new Set(all).size, 'a stamp was given twice').toBe(all.length)
  const unreported = new Set(
    server.requests.flatMap(({ body }) =>
      body.messages
        .filter(({ content }) => /outcome|took effect is unknown/.test(String(content)))
        .map(message => message.tool_call_id),
    ),
  )
  expect(all.length).toBeLessThanOrEqual(NAMES.length * STAMPS)
  expect(all.length).toBeGreaterThanOrEqual(NAMES.length * STAMPS - unreported.size)
  for (const { agent_id } of agents) await access(join(dir.path, '.svc/workspaces', agent_id, 'report.md'))

  expect(await second.end('SIGTERM')).toBe(0)
  await expect(access(join(dir.path, '.svc/daemon.pid'))).rejects.toThrow()
  expect(await web.end('SIGTERM')).toBe(0)
  await server.close()
})
