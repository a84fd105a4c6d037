import { expect, it } from 'vitest'
import { project } from '../../cli/project.ts'
import { text, toolCall, until } from '../../support/index.ts'
import { svc } from '../../support/vitest/warm.ts'
import { asksForGoal, goalsOf, spawn, testHostWithModel } from '../core/models/model-host.ts'

const GOAL = text(JSON.stringify({ goal: 'Count the sheep on the hill', reasoning: 'because' }))

it('a local model that needs 35 seconds for its first byte works with the default limits', async () => {
  let begin = () => {}
  const loaded = new Promise<void>(resolve => {
    begin = resolve
  })
  await using home = await testHostWithModel(async request => {
    await loaded
    return asksForGoal(request) ? GOAL : toolCall('finish_goal', { summary: 'Four.', evidence: [] })
  })
  const id = await spawn(home)
  home.kernel.heartbeat.start()
  await home.server.request(1)
  await home.clock.advance(35_000)
  expect(home.server.requests).toHaveLength(1)
  begin()
  await until(async () => (await goalsOf(home, id))[0]?.status === 'completed')
  expect(home.logged('timeout')).toEqual([])
})

it('conflicting time limits are reported with their keys and a remedy by config validate and doctor', async () => {
  const yaml =
    'model: { idle_timeout: 90, first_byte_timeout: 400, total_timeout: 80 }\ndaemon: { cycle_timeout: 60, tool_timeout: 60 }\n'
  await using dir = await project({ '.svc/config.yaml': yaml })
  const said = [
    /model\.idle_timeout.*is 90 s and model\.total_timeout is 80 s.*set model\.total_timeout above 90/,
    /model\.first_byte_timeout.*is 400 s and daemon\.cycle_timeout is 60 s.*or model\.first_byte_timeout below 60/,
    /model\.total_timeout.*is 80 s and daemon\.cycle_timeout is 60 s/,
    /daemon\.tool_timeout.*is 60 s and daemon\.cycle_timeout is 60 s/,
  ]
  const validated = await svc(['config', 'validate'], { cwd: dir.path })
  const { checks } = JSON.parse((await svc(['doctor', '--json'], { cwd: dir.path })).stdout)
  const { level, message } = checks.find(({ name }: { name: string }) => name === 'settings')
  expect([validated.code, level]).toEqual([1, 'warn'])
  for (const pattern of said) {
    expect(validated.stdout + validated.stderr).toMatch(pattern)
    expect(message).toMatch(pattern)
  }
})

it('the default time limits do not conflict', async () => {
  await using dir = await project()
  const { checks } = JSON.parse((await svc(['doctor', '--json'], { cwd: dir.path })).stdout)
  expect(checks).toContainEqual(expect.objectContaining({ name: 'settings', level: 'ok' }))
})
