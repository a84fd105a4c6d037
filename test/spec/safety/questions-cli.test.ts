import { expect, it } from 'vitest'
import type { Goal } from '#core/goals/contract'
import type { Question } from '#safety/questions/contract'
import { project } from '../../cli/project.ts'
import { type ModelServerRequest, modelServer, RunningSvc, text, toolCall, until } from '../../support/index.ts'
import { svc } from '../../support/vitest/warm.ts'

const QUESTION = 'Which branch is released?'

function script({ body, prompt }: ModelServerRequest) {
  if (prompt.includes('"goal":'))
    return text(prompt.includes('Recent goals') ? '' : '{"goal": "Release the project today"}')
  const results = body.messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content))
  if (results.length === 0) return toolCall('ask_operator', { question: QUESTION, options: ['main', 'stable'] })
  return toolCall('finish_goal', { summary: `It was said: ${results[0]}` })
}

it('a question survives a killed daemon and can be answered on the command line', async () => {
  await using server = await modelServer({ script })
  await using dir = await project({
    '.svc/config.yaml': 'daemon:\n  heartbeat: 0.2\n  min_rest: 0.05\n',
    'profiles/p.yaml': 'name: p\nrole: releases\n',
  })
  const env = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'test-key', OPENAI_MODEL: 'scripted' }
  const options = { cwd: dir.path, env }
  const json = async <T>(...args: string[]) => JSON.parse((await svc([...args, '--json'], options)).stdout) as T
  const open = () => json<Question[]>('questions')
  await svc(['spawn', 'p', '--name', 'releaser'], options)
  await using first = new RunningSvc(['start'], options)
  await until(async () => (await open()).length > 0)
  expect(await first.end('SIGKILL')).toBeNull()
  const [asked] = await open()
  const listed = await svc(['questions'], options)
  expect(listed.stdout).toMatch(/^q-\w+ {2}p-\w+ \(releaser\) {2}asked /m)
  expect(listed.stdout).toContain(`${QUESTION}\n    1. main\n    2. stable`)
  expect((await svc(['answer', asked!.question_id, 'next', 'one'], options)).stdout).toContain('next one')
  const again = await svc(['answer', asked!.question_id, '1'], options)
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('answered already, by cli') })
  await using _second = new RunningSvc(['start'], options)
  await until(async () =>
    (await svc(['goals', 'releaser'], options)).stdout.includes('It was said: The operator answered: next one'),
  )
})

it('svc goals add sets a deadline and acceptance criteria, svc goals show lists them, and they can be removed', async () => {
  await using dir = await project({
    '.svc/config.yaml': 'tools:\n  sandbox: "off"\n',
    'profiles/p.yaml': 'name: p\nrole: reports\n',
  })
  const options = { cwd: dir.path }
  await svc(['spawn', 'p'], options)
  const accept = ['--accept-file', 'report.md', '--accept-command', 'grep -q a report.md', '--accept-operator']
  const added = await svc(
    ['goals', 'add', 'p', 'Write the report', ...accept, '--deadline', '2090-01-01T00:00:00Z', '--json'],
    options,
  )
  const { goal_id } = JSON.parse(added.stdout) as Goal
  const { stdout } = await svc(['goals', 'show', goal_id], options)
  expect(stdout).toContain('deadline 2090-01-01T00:00:00.000Z\n  counts as reached when:\n')
  expect(stdout).toContain('… the command `grep -q a report.md` exits with 0 in your workspace')
  expect(stdout).toContain('… the operator accepts the result')
  const cleared = await svc(['goals', 'acceptance', 'clear', goal_id], options)
  expect(cleared).toMatchObject({ code: 0, stdout: expect.not.stringContaining('counts as reached') })
  const refused = await svc(['goals', 'add', 'p', 'Test it', '--accept-command', 'npm test'], options)
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('tools.shell_allow_dev_commands') })
})
