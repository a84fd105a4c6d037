import { expect, it } from 'vitest'
import type { Task } from '#core/tasks/contract'
import type { Summary } from '#observability/summary/schema'
import { project } from '../../cli/project.ts'
import { fault, type ModelServerRequest, modelServer, RunningSvc, text, toolCall, until } from '../../support/index.ts'
import { svc } from '../../support/vitest/warm.ts'

function script({ body, prompt }: ModelServerRequest) {
  const results = body.messages.filter(({ role }) => role === 'tool')
  if (prompt.includes('Goal: Break the line')) return fault('500')
  if (prompt.includes('Goal: Look at the quay')) return toolCall('finish_goal', { summary: 'There is a quay.' })
  if (prompt.includes('Goal: Release the boat')) return toolCall('ask_operator', { question: 'Which harbour?' })
  if (!prompt.includes('Goal: Count the boats')) return text('{"goal": null}')
  const steps = [
    toolCall('spawn_sub_agent', { name: 'looker', role: 'looks', task: 'Look at the quay' }),
    toolCall('wait_for_sub_agents', {}),
    toolCall('write_notepad', { text: 'two boats' }),
  ]
  return (
    steps[results.length] ?? toolCall('finish_goal', { summary: 'There are two boats.', evidence: ['write_notepad'] })
  )
}

it('svc summary shows ended goals, what waits for the operator, costs and failures of a period; svc events, what happened', async () => {
  await using server = await modelServer({ script })
  await using dir = await project({
    '.svc/config.yaml': 'daemon:\n  heartbeat: 0.2\n  min_rest: 0.05\n',
    'profiles/p.yaml': 'name: p\nrole: harbour\n',
    'profiles/q.yaml': 'name: q\nrole: boats\n',
    'profiles/r.yaml': 'name: r\nrole: lines\n',
  })
  const env = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'test-key', OPENAI_MODEL: 'scripted' }
  const options = { cwd: dir.path, env }
  const summary = async (...args: string[]) =>
    JSON.parse((await svc(['summary', ...args, '--json'], options)).stdout) as Summary
  for (const preset of ['p', 'r']) await svc(['spawn', preset], options)
  await svc(['spawn', 'q', '--name', 'ferry'], options)
  expect((await svc(['summary'], options)).stdout).toMatch(
    /^since .* UTC: 0 goals completed, 0 abandoned; 0 model calls/,
  )

  await svc(['goals', 'add', 'p', 'Count the boats'], options)
  await svc(['goals', 'add', 'p', 'Paint the pier', '--priority', '1'], options)
  await svc(['goals', 'add', 'ferry', 'Release the boat'], options)
  await svc(['goals', 'add', 'r', 'Break the line'], options)
  await svc(['schedules', 'add', 'p', 'Sweep the pier', '--every', '86400'], options)
  await svc(['pause', 'p'], options)
  await svc(['goals', 'abandon', '--agent', 'p'], options)
  await svc(['goals', 'add', 'p', 'Count the boats'], options)
  await svc(['resume', 'p'], options)
  await using _daemon = new RunningSvc(['start'], options)
  await until(async () => {
    const { completed, waiting, problems } = await summary()
    return completed === 1 && waiting.length === 1 && problems.some(({ times }) => times > 1)
  })
  expect((await summary()).problems).toHaveLength(1)

  const { stdout } = await svc(['summary', '--hours', '1'], options)
  expect(stdout).toMatch(/^since .* UTC: 1 goal completed, 2 abandoned; \d+ model calls, \$/)
  expect(stdout).toMatch(
    /Waiting for you\n {2}.* {2}q-\w+ \(ferry\) {2}asks: Which harbour\?\n {4}svc answer q-\w+ <text>/,
  )
  expect(stdout).toMatch(/^p-\w+: 1 goal completed, 2 abandoned/m)
  expect(stdout).toMatch(/completed {6}Count the boats\n +→ There are two boats\./)
  expect(stdout).toMatch(/abandoned {6}Paint the pier\n +→ Abandoned by the operator\./)
  expect(stdout).toMatch(/Problems\n {2}.* {2}r-\w+ {2}The model openai:scripted gave no answer: HTTP 500/)
  const short = await svc(['summary', '--limit', '1'], options)
  expect(short.stdout).toMatch(/\n {2}2 more: svc history p-\w+/)

  const { goals: worst } = await summary('--top', '2')
  expect(worst.map(({ status }) => status)).toEqual(['abandoned', 'abandoned'])

  const events = await svc(['events', '--type', 'goal_added', '--type', 'goal_completed'], options)
  const changed = await svc(['events', '--type', 'schedule_changed'], options)
  expect(changed.stdout).toMatch(/Z {2}p-\w+ {2}sched-\w+ was added$/m)
  expect(events.stdout).toMatch(/^\d{4}-\d\d-\d\dT[\d:]+Z {2}p-\w+ {2}completed goal-\w+$/m)
  expect(events.stdout).toMatch(/Z {2}p-\w+ {2}received a goal \(operator\): Count the boats$/m)
  expect(events.stdout).toMatch(/Z {2}q-\w+ \(ferry\) {2}received a goal \(operator\): Release the boat$/m)
  expect((await svc(['spending'], options)).stdout).toMatch(/tokens {2}q-\w+ \(ferry\)$/m)

  const [newest] = (await summary()).goals
  const later = await summary('--since', new Date(Date.parse(newest!.completed_at) + 1).toISOString())
  expect(later).toMatchObject({ completed: 0, abandoned: 0, goals: [] })
  expect(later.waiting).toHaveLength(1)
  const refused = await svc(['summary', '--since', 'yesterday'], options)
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('since: must be a time such as') })
})

it('svc summary names a delegated goal under the agent that worked on it', async () => {
  await using server = await modelServer({
    script({ body, prompt }) {
      if (!prompt.includes('Goal: ')) return text('{"goal": null}')
      if (prompt.includes('Goal: Count the boats')) return toolCall('finish_goal', { summary: 'Two boats.' })
      const isAsked = body.messages.some(({ role }) => role === 'tool')
      return isAsked
        ? toolCall('finish_goal', { summary: 'Reported two boats.' })
        : toolCall('delegate_task', { agent_name: 'q', objective: 'Count the boats', wait: true })
    },
  })
  await using dir = await project({
    '.svc/config.yaml': 'daemon:\n  heartbeat: 0.2\n  min_rest: 0.05\n',
    'profiles/p.yaml': 'name: p\nrole: harbour\n',
    'profiles/q.yaml': 'name: q\nrole: boats\n',
  })
  const env = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'test-key', OPENAI_MODEL: 'scripted' }
  const options = { cwd: dir.path, env }
  for (const preset of ['p', 'q']) await svc(['spawn', preset], options)
  await svc(['goals', 'add', 'p', 'Report how many boats there are'], options)
  await using _daemon = new RunningSvc(['start'], options)
  await until(async () => (await svc(['summary'], options)).stdout.includes(': 2 goals completed'))
  const { stdout } = await svc(['summary'], options)
  expect(stdout).toMatch(/^q-\w+: 1 goal completed, .*\n.*completed {6}Count the boats\n +→ Two boats\./m)
})

it('svc summary counts a cancelled task as cancelled', async () => {
  await using server = await modelServer({
    script: ({ prompt }) => (prompt.includes('Count the boats') ? fault('stall') : text('{"goal": null}')),
  })
  await using dir = await project({ 'profiles/p.yaml': 'name: p\nrole: harbour\n' })
  const env = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'test-key', OPENAI_MODEL: 'scripted' }
  const options = { cwd: dir.path, env }
  await svc(['spawn', 'p'], options)
  await using _daemon = new RunningSvc(['start'], options)
  await using _run = new RunningSvc(['run', 'p', 'Count the boats'], options)
  const running = () => svc(['tasks', 'p', '--json'], options).then(({ stdout }) => JSON.parse(stdout) as Task[])
  await until(async () => (await running())[0]?.status === 'running')
  const [task] = await running()
  await svc(['task', 'cancel', task!.task_id], options)
  const { stdout } = await svc(['summary'], options)
  expect(stdout).toMatch(/^Tasks: 0 of 1 ended task completed, 1 cancelled, .*\n.* {2}cancelled {2}Count the boats$/m)
  // The task was cancelled before its first message was stored.
  expect(await svc(['session', 'transcript', task!.session_id], options)).toMatchObject({
    code: 0,
    stdout: 'no messages\n',
  })
})
