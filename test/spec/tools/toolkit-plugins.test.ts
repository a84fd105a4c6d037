import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import pluginsAdmin from '#interfaces/plugins-admin/index'
import { HostToken } from '#kernel'
import { type Answer, toolCall } from '../../support/index.ts'
import {
  decide,
  finish,
  results,
  testHostWithApprovals,
  waitForCompletedGoal,
  waitForPendingCall,
} from '../safety/approvals-host.ts'

const greeting = (words: string) => `import { definePlugin, tool, z } from 'svc'
export default definePlugin({ name: 'greeting', description: '${words}', setup(svc) {
  svc.toolkit({ name: 'greeting', tools: [tool({ name: 'greet', description: 'Greets.', parameters: z.object({}), execute: () => '${words}' })] })
} })
`
const PROFILE = { 'profiles/worker.yaml': 'name: worker\nrole: keeps plugins\ntoolkits: [plugins]\nmax_steps: 9\n' }

function testHostWithPlugins(steps: Answer[], config: Record<string, unknown> = {}) {
  return testHostWithApprovals([...steps, finish()], {
    config,
    builtins: [pluginsAdmin],
    files: PROFILE,
    plugins: { 'greeting.ts': greeting('good morning') },
  })
}

it('an agent lists plugins, reads what one adds, and calls its tools', async () => {
  await using home = await testHostWithPlugins([
    toolCall('plugins_list'),
    toolCall('plugins_read', { name: 'greeting' }),
    toolCall('plugins_read', { name: 'greetings' }),
    toolCall('greet'),
  ])
  await waitForCompletedGoal(home)
  const [list, one, none, greeted] = results(home.server)
  expect(list).toContain('- greeting (live): good morning')
  expect(list).toContain('- plugins-admin (live): ')
  expect(one).toMatch(/^greeting .*\(live\), from .*greeting\.ts\ngood morning\nIt adds:\n[\s\S]*greeting/)
  expect(one).toContain('- tool greet')
  expect(none).toContain('There is no plugin "greetings"; did you mean "greeting"?')
  expect(greeted).toBe('good morning')
})

it('a reload waits for the operator: approval loads the edited file, denial changes nothing', async () => {
  await using home = await testHostWithPlugins([
    toolCall('plugins_reload', { name: 'greeting' }),
    toolCall('plugins_reload', { name: 'greeting' }),
    toolCall('greet'),
  ])
  const currentDescription = () =>
    home.kernel
      .use(HostToken)
      .list()
      .find(({ name }) => name === 'greeting')!.description
  const first = await waitForPendingCall(home)
  expect(first).toMatchObject({ tool_name: 'plugins_reload' })
  await writeFile(join(home.root, 'plugins/greeting.ts'), greeting('good evening'))
  await decide(home, first.approval_id, { decision: 'deny', reason: 'not now' })
  const second = await waitForPendingCall(home)
  expect(currentDescription()).toBe('good morning')
  await decide(home, second.approval_id, { decision: 'approve' })
  await waitForCompletedGoal(home)
  expect(currentDescription()).toBe('good evening')
  const [denied, reloaded, greeted] = results(home.server)
  expect(denied).toContain('not now')
  expect(reloaded).toBe('greeting: reloaded')
  expect(greeted).toBe('good evening')
})

it('a file that cannot be loaded is reported with its line, and the previous version stays loaded', async () => {
  await using home = await testHostWithPlugins([toolCall('plugins_reload', { name: 'greeting' }), toolCall('greet')])
  await writeFile(join(home.root, 'plugins/greeting.ts'), 'export default {\n  name: greeting')
  await decide(home, (await waitForPendingCall(home)).approval_id, { decision: 'approve' })
  await waitForCompletedGoal(home)
  const [failed, greeted] = results(home.server)
  expect(failed).toMatch(/greeting: failed: .*greeting\.ts:\d+/)
  expect(greeted).toBe('good morning')
})

it('plugins_reload is refused while approvals are off', async () => {
  await using home = await testHostWithPlugins([toolCall('greet'), toolCall('plugins_reload', { name: 'greeting' })], {
    approval: { enabled: false },
  })
  await waitForCompletedGoal(home)
  expect(results(home.server)[1]).toContain(
    'plugins_reload needs the approval of a person, and approval.enabled is off',
  )
  const { swaps } = home.kernel
    .use(HostToken)
    .list()
    .find(({ name }) => name === 'greeting')!
  expect(swaps).toBe(0)
})
