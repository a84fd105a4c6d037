import { describe, expect, it } from 'vitest'
import { definePlugin, z } from '#kernel'
import daemon from '#platform/daemon/index'
import { tool } from '#tools/toolkits/contract'
import { type ModelServerRequest, text, together, toolCall, until } from '../../../support/index.ts'
import { asksForGoal, goalsOf, spawn, testHostWithModel } from '../models/model-host.ts'

type Home = Awaited<ReturnType<typeof testHostWithModel>>
type Stop = (home: Home, agent_id: string) => Promise<unknown>

const pause: Stop = (home, agent_id) => home.kernel.invoke('agents.pause', { id: agent_id })
const freeze: Stop = home => home.kernel.invoke('daemon.pause')
const abandon: Stop = async (home, agent_id) =>
  home.kernel.invoke('goals.abandon', { goal_id: (await goalsOf(home, agent_id))[0]?.goal_id })
const resume: Stop = (home, agent_id) => home.kernel.invoke('agents.resume', { id: agent_id })
const thaw: Stop = home => home.kernel.invoke('daemon.resume')

/**
 * Runs an agent whose model calls the tools `first` and `second` in one answer, then finishes its goal.
 * @param whileAnswering what the operator does before that answer is sent
 * @param whileFirst what the operator does while the first tool runs
 */
async function agentThatWorks(
  { whileAnswering, whileFirst }: { whileAnswering?: Stop; whileFirst?: Stop },
  disabled: string[] = [],
) {
  const ran: string[] = []
  const ends: Promise<unknown>[] = []
  let id = ''
  const stop = async (how?: Stop) => {
    await how?.(home, id)
    if (how) ends.push(until(home, 'cycle_end'))
  }
  const named = (name: string) =>
    tool({
      name,
      description: 'Writes.',
      parameters: z.object({}),
      async execute() {
        ran.push(name)
        if (name === 'first' && ran.length === 1) await stop(whileFirst)
        return `${name} ran`
      },
    })
  const steps = [
    together(toolCall('first'), toolCall('second'), toolCall('first', { again: true })),
    toolCall('finish_goal', { summary: 'done' }),
  ]
  const home: Home = await testHostWithModel(
    async (request: ModelServerRequest) => {
      if (asksForGoal(request)) return text(JSON.stringify({ goal: 'Use both of the tools', reasoning: 'because' }))
      if (steps.length === 2) await stop(whileAnswering)
      return steps.shift() ?? text('Nothing more.')
    },
    {
      config: { plugins: { disabled } },
      builtins: [
        daemon,
        definePlugin({
          name: 'pair',
          setup: svc => svc.toolkit({ name: 'pair', everyday: true, tools: [named('first'), named('second')] }),
        }),
      ],
    },
  )
  id = await spawn(home)
  home.kernel.heartbeat.start()
  const stopped = async () => {
    await until(() => ends.length > 0)
    await ends[0]
  }
  return { home, id, ran, stopped, [Symbol.asyncDispose]: () => home[Symbol.asyncDispose]() }
}

const untilCompleted = async (home: Home) => {
  const completed = until(home, 'goal_completed')
  await home.clock.advance(10_000)
  await completed
}

const callsOf = async ({ home, id }: { home: Home; id: string }) =>
  (await home.kernel.invoke('goals.calls', { goal_id: (await goalsOf(home, id))[0]!.goal_id })) as unknown

describe('tools that a model called before the operator stopped its agent', () => {
  for (const [name, stop, goOn] of [
    ['pause', pause, resume],
    ['freeze', freeze, thaw],
  ] as const) {
    for (const disabled of [[], ['approvals']]) {
      it(`do not run during a ${name} and run once after it${disabled.length > 0 ? ', without approvals' : ''}`, async () => {
        await using work = await agentThatWorks({ whileAnswering: stop }, disabled)
        const { home, id, ran } = work
        await work.stopped()
        expect(ran).toEqual([])
        await goOn(home, id)
        await untilCompleted(home)
        expect(ran).toEqual(['first', 'second', 'first'])
      })
    }
  }

  it('do not run after the first of them, if the pause comes then', async () => {
    await using work = await agentThatWorks({
      whileFirst: pause,
    })
    const { home, id, ran } = work
    await work.stopped()
    expect(ran).toEqual(['first'])
    await resume(home, id)
    await untilCompleted(home)
    expect(ran).toEqual(['first', 'second', 'first'])
  })

  it('never run when the goal was abandoned, and the journal says so', async () => {
    await using work = await agentThatWorks({ whileAnswering: abandon })
    const { home, id, ran } = work
    await work.stopped()
    expect(ran).toEqual([])
    expect(JSON.stringify(await callsOf(work))).toContain('the goal has ended meanwhile. The tool was not run.')
    expect((await goalsOf(home, id))[0]?.status).toBe('abandoned')
  })
})
