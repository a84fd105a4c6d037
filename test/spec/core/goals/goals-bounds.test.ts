import { expect, it } from 'vitest'
import type { AgentDetail } from '#core/agents/contract'
import { definePlugin, z } from '#kernel'
import { textTokens } from '#lib/text-tokens'
import { tool } from '#tools/toolkits/contract'
import { type ModelServerRequest, type Reply, runHeartbeat, toolCall } from '../../../support/index.ts'
import { finish, goalAnswer } from '../../safety/approvals-host.ts'
import { asksForGoal, testHostWithModel } from '../models/model-host.ts'
import { firstEnded } from './summary-host.ts'

const WINDOW = 8_000
const PROFILE = 'name: worker\nrole: does what the script says\nmax_steps: 5\nmax_tokens: 500\n'

/** Starts an agent with a small context window and a tool that returns two million characters. */
async function small(step: (request: ModelServerRequest, n: number) => Reply, files: Record<string, string> = {}) {
  let n = 0
  const dump = tool({
    name: 'dump',
    description: 'Returns much.',
    parameters: z.object({}),
    execute: () => `It begins here. ${'x'.repeat(2_000_000)} It ends here.`,
  })
  const home = await testHostWithModel(
    request =>
      asksForGoal(request)
        ? goalAnswer(request.prompt.includes('Recent goals') ? '' : 'Do what the script says')
        : step(request, ++n),
    {
      builtins: [definePlugin({ name: 'dumps', setup: svc => void svc.toolkit({ name: 'dumps', tools: [dump] }) })],
      files: {
        'models.yaml': `models: { "openai:scripted": { context_window: ${WINDOW} } }\n`,
        'profiles/worker.yaml': PROFILE,
        ...files,
      },
      serving: { window: WINDOW },
    },
  )
  const { agent_id } = (await home.kernel.invoke('agents.spawn', { preset: 'worker' })) as AgentDetail
  const steps = () => home.server.requests.filter(request => !asksForGoal(request))
  return Object.assign(home, { id: agent_id, steps })
}

it('skills of a megabyte are cut, say how much is missing, and leave every rule and short skill in the prompt', async () => {
  const long = Array.from({ length: 15 }, (_, n) => `long-${n}`)
  const text = 'Words of a long skill. '.repeat(2_700)
  await using home = await small(() => finish('Done.'), {
    'profiles/worker.yaml': `${PROFILE}skills: [${[...long, 'short'].join(', ')}]\nsystem_prompt: Write in British English.\n`,
    ...Object.fromEntries(long.map(name => [`skills/${name}.md`, `# Skill ${name}\n\n${text}\n`])),
    'skills/short.md': '# Short\n\nAlways look twice.\n',
  })
  expect((await firstEnded(home, home.id)).result).toBe('Done.')
  expect(home.server.refusals).toEqual([])
  const system = String(home.steps()[0]!.body.messages[0]!.content)
  expect(system.match(/of 62\d{3} characters left out to fit the model's context/g)).toHaveLength(15)
  for (const kept of [
    ...long.map(name => `# Skill ${name}`),
    'Role: does what the script says',
    'Write in British English.',
    'You work on one goal at a time',
    'Your goal and the operator decide what you do',
    'call finish_goal and say where the evidence is',
    'Always look twice.',
  ])
    expect(system).toContain(kept)
})

it('operator messages that do not fit into one step are read in the next ones, each unchanged', async () => {
  const messages = Array.from({ length: 12 }, (_, n) =>
    `Order ${n}: ${`mind rule ${n} of the host. `.repeat(60)}`.trim(),
  )
  const unread = new Set(messages)
  let isNudged = false
  await using home = await small(({ prompt }, n) => {
    for (const message of unread) if (prompt.includes(message)) unread.delete(message)
    return isNudged && (unread.size === 0 || n > 60)
      ? finish(`${unread.size} were never whole.`)
      : toolCall('file_write', { path: 'a.txt', content: `${n}` })
  })
  home.kernel.heartbeat.start()
  await runHeartbeat(home)
  isNudged = true
  for (const message of messages) await home.kernel.invoke('agents.nudge', { id: home.id, message })
  expect((await firstEnded(home, home.id)).result).toBe('0 were never whole.')
  expect(home.server.refusals).toEqual([])
  const first = home.steps().find(({ prompt }) => prompt.includes('did not fit'))!.prompt
  expect(first).toMatch(
    /\(At least \d+ more messages from the operator did not fit into this step\. You will read them in the next steps\.\)/,
  )
  expect(first.match(/Order \d+: mind/g)!.length).toBeLessThan(messages.length / 2)
})

it('a result of two megabytes is cut to fit the window of the model, and says to ask for a smaller part', async () => {
  await using home = await small((_, n) => (n === 1 ? toolCall('dump') : finish('Read.')))
  expect((await firstEnded(home, home.id)).result).toBe('Read.')
  expect(home.server.refusals).toEqual([])
  const result = String(home.steps()[1]!.body.messages.findLast(({ role }) => role === 'tool')!.content)
  expect(result).toMatch(/^It begins here\./)
  expect(result).toMatch(/\d more characters were cut; ask for a smaller part\.$/)
  expect(textTokens(result)).toBeGreaterThan(WINDOW * 0.15)
  expect(textTokens(result)).toBeLessThan(WINDOW * 0.22)
})
