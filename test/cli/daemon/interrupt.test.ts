import { expect, it } from 'vitest'
import { RunningSvc } from '../../support/cli.ts'
import { fault, modelServer } from '../../support/model/model-server.ts'
import { until } from '../../support/until.ts'
import { svc } from '../../support/vitest/warm.ts'
import { FAST, project } from '../project.ts'

it.each([
  ['svc run', 'without a daemon'],
  ['svc task run', 'without a daemon'],
  ['svc run', 'with a daemon'],
  ['svc task run', 'with a daemon'],
])('Ctrl-C in %s, %s, cancels the task and says so', async (command, where) => {
  await using model = await modelServer({ script: () => fault('hang') })
  await using dir = await project(FAST)
  const options = { cwd: dir.path, env: { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'key' } }
  await svc(['spawn', 'coder'], options)
  await svc(['pause', 'coder'], options)
  await using daemon = where === 'with a daemon' ? new RunningSvc(['start'], options) : undefined
  await daemon?.waitForOutput(/^Logs: /m)
  await using task = new RunningSvc([...command.split(' ').slice(1), 'coder', 'say hi'], options)
  await until(() => model.requests.length > 0)
  expect(await task.end('SIGINT')).toBe(130)
  const said = "Interrupted: the task was cancelled. List the agent's tasks with: svc tasks coder\n"
  // A task that is not streamed reports its progress there.
  expect(task.stderr.replace(/^Task task-\w+ has started\n/, '')).toBe(said)
  expect(task.stdout).toBe('')
  expect((await svc(['tasks', 'coder'], options)).stdout).toMatch(/say hi/)
})
