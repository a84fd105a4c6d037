import { expect, it } from 'vitest'
import { definePlugin, type PluginDefinition } from '#kernel'
import { ToolError, type ToolInterceptor } from '#tools/toolkits/contract'
import { toolCall, until } from '../../support/index.ts'
import { finish, history, type Step, testHostWithApprovals } from '../safety/approvals-host.ts'

/** Returns a plugin with these interceptors. */
const intercepting = (...interceptors: ToolInterceptor[]): PluginDefinition =>
  definePlugin({
    name: 'intercepting',
    setup(svc) {
      for (const each of interceptors) svc.interceptTools(each)
    },
  })

type Host = Awaited<ReturnType<typeof testHostWithApprovals>>

/** Returns the results of tools in the last request. */
const resultsIn = ({ server }: Host) =>
  server.requests.at(-1)!.body.messages.flatMap(({ role, content }) => (role === 'tool' ? [content] : []))

/** Runs an agent that makes these calls and finishes, until its last request. */
async function ran(steps: Step[], builtin: PluginDefinition, file?: string) {
  const plugins = file === undefined ? {} : { 'intercepting.ts': file }
  const home = await testHostWithApprovals([...steps, finish()], { builtins: [builtin], plugins })
  await until(() => home.server.requests.length > steps.length + 1)
  return home
}

it('an interceptor refuses a call before anyone is asked about it', async () => {
  const check: ToolInterceptor['check'] = args => {
    if ((args as { to?: string }).to === 'all') throw new ToolError({ problem: 'Write to one person at a time.' })
  }
  await using home = await ran(
    [toolCall('send', { to: 'all' }), toolCall('look', { to: 'all' })],
    intercepting({ name: 'one', applies: tool => tool.name === 'send', check }),
  )
  expect(resultsIn(home)).toEqual(['Error: Write to one person at a time.', 'look ran 1'])
  expect(await history(home, home.id)).toEqual([])
})

it('interceptors change arguments and results, the lowest stage first', async () => {
  const order: string[] = []
  const named = (name: string, stage: number): ToolInterceptor => ({
    name,
    stage,
    async intercept(args, { agent_id }, next, tool) {
      order.push(`${name}: ${tool.name}`)
      expect(agent_id).not.toBe('')
      const { to = '' } = args as { to?: string }
      return `${name}(${await next({ ...(args as object), to: to + name })})`
    },
  })
  await using home = await ran([toolCall('look', { n: 1 })], intercepting(named('b', 2), named('a', 1)))
  expect(order.slice(0, 2)).toEqual(['a: look', 'b: look'])
  expect(home.runs).toEqual([{ tool: 'look', args: { n: 1, to: 'ab' } }])
  expect(resultsIn(home)).toEqual(['a(b(look ran 1))'])
})

it('arguments that an interceptor changed are validated, and a call without next does not run', async () => {
  const intercept: ToolInterceptor['intercept'] = (args, _call, next) =>
    (args as { to?: string }).to ? 'kept' : next({ n: 'many' })
  await using home = await ran(
    [toolCall('look'), toolCall('look', { to: 'Ada' })],
    intercepting({ name: 'odd', intercept }),
  )
  const [refused, kept] = resultsIn(home)
  expect(refused).toMatch(/^Error: a plugin or a guardrail changed the arguments, and now they are invalid: n: /)
  expect(kept).toBe('kept')
  expect(home.runs).toEqual([])
})

it("failures of a plugin file's interceptor count as its own, those of the tool and refusals do not", async () => {
  const plugin = `import { definePlugin, ToolError } from 'svc'
export default definePlugin({ name: 'intercepting', setup(svc) {
  svc.interceptTools({ name: 'steps', async intercept({ text }, call, next, tool) {
    if (text === 'refuse') throw new ToolError({ problem: 'Not now.' })
    if (text === 'fail') throw new Error('broken')
    return next()
  } })
  svc.interceptTools({ name: 'checks', check({ to }) { if (to === 'nowhere') throw new Error('unchecked') } })
} })`
  const broken = definePlugin({
    name: 'breaking',
    setup: svc =>
      void svc.interceptTools({
        name: 'breaking',
        stage: 1,
        intercept: (args, _call, next) => {
          if ((args as { text?: string }).text === 'break') throw new Error('the tool broke')
          return next()
        },
      }),
  })
  const said = ['refuse', 'break', 'fail'].map(text => toolCall('look', { text }))
  await using home = await ran([...said, toolCall('look', { to: 'nowhere' })], broken, plugin)
  const [refused, broke, failed, unchecked] = resultsIn(home)
  expect([refused, broke, failed, unchecked]).toEqual([
    'Error: Not now.',
    'Error: the tool broke',
    'Error: broken',
    'Error: unchecked',
  ])
  const listed = home.kernel.host.list().find(({ name }) => name === 'intercepting')
  expect(listed).toMatchObject({ failures: 2, last_failure: expect.stringMatching(/intercepting\.ts:8.*unchecked/) })
})
