import type { PluginKind } from './kinds.ts'

/** A new plugin file and its test. */
export interface Scaffold {
  source: string
  test: string
}

/** @param name name of the plugin and stem of its file */
export function scaffoldPlugin(kind: PluginKind, name: string): Scaffold {
  const { source, test } = SCAFFOLDS[kind]
  const fill = (text: string) => dedent(text).replaceAll('NAME', name).replaceAll('TOOL', name.replaceAll('-', '_'))
  return { source: fill(source), test: fill(HEAD + test) }
}

/** Removes the indentation of templates. */
function dedent(text: string): string {
  return `${text.replace(/^ {6}/gm, '').trim()}\n`
}

const HEAD = `
      // Run it with: npx vitest run plugins/NAME.test.ts
      // The test host is a project of its own; its clock stands still until the test advances it.
`

const SCAFFOLDS: Readonly<Record<PluginKind, Scaffold>> = {
  mix: {
    source: `
      import { definePlugin, z } from 'svc'

      export default definePlugin({
        name: 'NAME',
        description: 'Counts the cycles of each agent.',
        config: z.object({
          log_every: z.number().int().min(1).default(10).meta({ reload: 'applied' }).describe('Cycles between two log lines'),
        }),
        setup(svc, config) {
          const cycles = new Map<string, number>()
          svc.on('cycle_end', ({ agent_id }) => {
            const count = (cycles.get(agent_id) ?? 0) + 1
            cycles.set(agent_id, count)
            if (count % config.log_every === 0) svc.log.info({ agent_id }, \`\${count} cycles\`)
          })
          svc.operation({
            name: 'NAME.show',
            summary: "Count each agent's cycles",
            input: z.strictObject({}),
            output: z.record(z.string(), z.number().int()),
            http: { method: 'GET', path: '/NAME' },
            cli: { usage: 'NAME show' },
            run: () => Object.fromEntries(cycles),
          })
        },
      })
    `,
    test: `
      import { memoryScheduler, runHeartbeat, testHost } from 'svc/testing'
      import { expect, it } from 'vitest'
      import plugin from './NAME.ts'

      it('counts the cycles of each agent, and logs them now and then', async () => {
        const agents = memoryScheduler()
        const config = { plugins: { config: { 'NAME': { log_every: 2 } } } }
        await using host = await testHost({ builtins: [agents.plugin], config })
        await host.kernel.host.add(plugin)
        agents.add('ada')
        await runHeartbeat(host)
        expect(await host.kernel.invoke('NAME.show')).toEqual({ ada: 2 })
        expect(host.logged('2 cycles')).toMatchObject([{ plugin: 'NAME', agent_id: 'ada' }])
      })
    `,
  },
  tool: {
    source: `
      import { definePlugin, tool, z } from 'svc'

      export default definePlugin({
        name: 'NAME',
        description: 'Dice for agents.',
        setup(svc) {
          svc.toolkit({
            name: 'NAME',
            instructions: 'When chance should decide, roll dice instead of choosing yourself.',
            tools: [
              tool({
                name: 'TOOL_roll',
                description: 'Roll one die and see what it shows.',
                parameters: z.object({ sides: z.number().int().min(2).max(100).default(6).describe('Number of sides') }),
                // To explain to the model why a call is not possible: throw new ToolError({ problem: '…' })
                execute: ({ sides }, call) =>
                  1 + Math.floor(svc.ports.random.number('NAME', call.agent_id, call.idempotency_key) * sides),
              }),
            ],
          })
        },
      })
    `,
    test: `
      import { type ToolCall, Toolkits } from 'svc'
      import { testHost } from 'svc/testing'
      import { expect, it } from 'vitest'
      import plugin from './NAME.ts'

      it('a die shows one of its sides, and the same again for the same call', async () => {
        await using host = await testHost({ seed: 1 })
        await host.kernel.host.add(plugin)
        const [roll] = host.kernel.points.find(Toolkits, 'NAME')!.tools
        const call = (n: number) => ({ agent_id: 'ada', idempotency_key: \`ada:1:\${n}\` }) as ToolCall
        const rolled = await Promise.all([1, 2, 3, 4, 5, 6].map(n => roll!.execute({ sides: 3 }, call(n))))
        expect(rolled.every(side => [1, 2, 3].includes(side as number))).toBe(true)
        expect(await roll!.execute({ sides: 3 }, call(1))).toBe(rolled[0])
      })
    `,
  },
  guard: {
    source: `
      import { definePlugin, z } from 'svc'

      const hour = z.number().int().min(0).max(24)

      export default definePlugin({
        name: 'NAME',
        description: 'Agents look for new goals during some hours of the day only (UTC).',
        config: z.object({
          from: hour.default(9).meta({ reload: 'applied' }).describe('The first hour in which goals are sought'),
          to: hour.default(17).meta({ reload: 'applied' }).describe('The first hour in which they are not'),
        }),
        setup(svc, config) {
          // A guard that throws lets the phase pass; with { failClosed: true } as a third argument it does not.
          svc.guard('goal_generation', {
            shouldProceed: ({ at }) => at.getUTCHours() >= config.from && at.getUTCHours() < config.to,
          })
        },
      })
    `,
    test: `
      import { memoryScheduler, runHeartbeat, testHost } from 'svc/testing'
      import { expect, it } from 'vitest'
      import plugin from './NAME.ts'

      it('goals are sought at noon, and not at midnight', async () => {
        const agents = memoryScheduler()
        await using host = await testHost({ builtins: [agents.plugin] })
        await host.kernel.host.add(plugin)
        const phases: string[] = []
        host.kernel.hooks.on('phase_enter', ({ phase }) => void phases.push(phase))
        // A held clock begins at midnight, UTC.
        agents.add('ada')
        await runHeartbeat(host)
        expect(phases).not.toContain('goal_generation')
        host.clock.jump(12 * 3_600_000)
        await runHeartbeat(host)
        expect(phases).toContain('goal_generation')
      })
    `,
  },
  hook: {
    source: `
      import { definePlugin } from 'svc'

      export default definePlugin({
        name: 'NAME',
        description: 'Applauds in the log whenever an agent reaches a goal.',
        setup(svc) {
          svc.on('goal_completed', ({ agent_id, goal_id }) => {
            svc.log.info({ agent_id, goal_id }, 'well done')
          })
        },
      })
    `,
    test: `
      import { testHost } from 'svc/testing'
      import { expect, it } from 'vitest'
      import plugin from './NAME.ts'

      it('a goal that is reached is applauded', async () => {
        await using host = await testHost()
        await host.kernel.host.add(plugin)
        await host.kernel.hooks.emit('goal_completed', { agent_id: 'ada', goal_id: 'goal-1' })
        expect(host.logged('well done')).toMatchObject([{ plugin: 'NAME', agent_id: 'ada', goal_id: 'goal-1' }])
      })
    `,
  },
  'wake-source': {
    source: `
      import { definePlugin } from 'svc'

      const HOUR_MS = 3_600_000

      export default definePlugin({
        name: 'NAME',
        description: 'Wakes all agents at each full hour.',
        setup(svc) {
          svc.wakeSource({
            name: 'NAME',
            // Asked again after each answer; ends when the signal is aborted.
            async wait(signal) {
              await svc.clock.sleep(HOUR_MS - (svc.clock.ms() % HOUR_MS), signal)
              signal.throwIfAborted()
              return 'the hour has struck'
            },
          })
        },
      })
    `,
    test: `
      import { memoryScheduler, testHost, waitUntilIdle } from 'svc/testing'
      import { expect, it } from 'vitest'
      import plugin from './NAME.ts'

      it('agents wake when the hour strikes, and not before', async () => {
        const agents = memoryScheduler()
        const config = { daemon: { heartbeat: 86_400 } }
        await using host = await testHost({ builtins: [agents.plugin], config })
        await host.kernel.host.add(plugin)
        agents.add('ada')
        await waitUntilIdle(host)
        expect(agents.commits).toHaveLength(1)
        await host.clock.advance(59 * 60_000)
        expect(agents.commits).toHaveLength(1)
        await host.clock.advance(61_000)
        await waitUntilIdle(host)
        expect(agents.commits).toHaveLength(2)
      })
    `,
  },
  'goal-strategy': {
    source: `
      import { definePlugin, z } from 'svc'

      export default definePlugin({
        name: 'NAME',
        description: 'Gives idle agents one of a list of goals, in turn; without a list they think for themselves.',
        config: z.object({
          goals: z.array(z.string().min(1)).default([]).meta({ reload: 'applied' }).describe('What there is to do'),
        }),
        setup(svc, config) {
          svc.goalStrategy({
            generateGoal({ cycle_num }) {
              // undefined leaves the decision to the next strategy; the last one asks the agent's own model.
              if (config.goals.length === 0) return undefined
              const objective = config.goals[cycle_num % config.goals.length]!
              return { objective, reasoning: 'It is the turn of this one.', cost_usd: 0, tokens: 0 }
            },
          })
        },
      })
    `,
    test: `
      import { type GoalContext, GoalStrategies } from 'svc'
      import { testHost } from 'svc/testing'
      import { expect, it } from 'vitest'
      import plugin from './NAME.ts'

      it('goals have their turn, and without any the next strategy is asked', async () => {
        const config = (goals: string[]) => ({ plugins: { config: { 'NAME': { goals } } } })
        const ask = async (goals: string[], cycle_num: number) => {
          await using host = await testHost({ config: config(goals) })
          await host.kernel.host.add(plugin)
          return host.kernel.points.ask(GoalStrategies, { agent_id: 'ada', cycle_num } as GoalContext)
        }
        expect(await ask(['sow', 'reap'], 1)).toMatchObject({ objective: 'reap' })
        expect(await ask(['sow', 'reap'], 2)).toMatchObject({ objective: 'sow' })
        expect(await ask([], 1)).toBeUndefined()
      })
    `,
  },
  operation: {
    source: `
      import { defineError, definePlugin, z } from 'svc'

      const UnknownPersonError = defineError({
        code: 'unknown_person',
        status: 404,
        title: 'Unknown person',
        message: (p: { who: string }) => \`There is no one called "\${p.who}"; greet the world.\`,
      })

      export default definePlugin({
        name: 'NAME',
        description: 'Greets: as a REST route, a command and an MCP tool at once.',
        setup(svc) {
          svc.operation({
            name: 'NAME.greet',
            summary: 'Greet someone',
            input: z.strictObject({
              who: z.string().min(1).max(100).describe('Person to greet'),
              loud: z.boolean().default(false).describe('Whether to use capital letters'),
            }),
            output: z.object({ greeting: z.string() }),
            http: { method: 'GET', path: '/NAME/{who}' },
            cli: { usage: 'NAME <who>' },
            mcp: true,
            errors: [UnknownPersonError],
            render: ({ greeting }) => greeting,
            run({ who, loud }) {
              if (who === 'stranger') throw new UnknownPersonError({ who })
              const greeting = \`Hello, \${who}!\`
              return { greeting: loud ? greeting.toUpperCase() : greeting }
            },
          })
        },
      })
    `,
    test: `
      import { testHost } from 'svc/testing'
      import { expect, it } from 'vitest'
      import plugin from './NAME.ts'

      it('greets the named person, and refuses unknown names', async () => {
        await using host = await testHost()
        await host.kernel.host.add(plugin)
        const greet = (input: object) => host.kernel.invoke('NAME.greet', input)
        expect(await greet({ who: 'world' })).toEqual({ greeting: 'Hello, world!' })
        expect(await greet({ who: 'world', loud: true })).toEqual({ greeting: 'HELLO, WORLD!' })
        await expect(greet({ who: 'stranger' })).rejects.toMatchObject({ code: 'unknown_person' })
        await expect(greet({})).rejects.toMatchObject({ code: 'invalid_input' })
      })
    `,
  },
  service: {
    source: `
      import { definePlugin, token } from 'svc'

      /** What other plugins see of this one: they say needs: ['NAME'] and call svc.use(Lexicon) where they need it. */
      export interface Lexicon {
        meaning(word: string): string | undefined
      }
      export const Lexicon = token<Lexicon>('NAME')

      export default definePlugin({
        name: 'NAME',
        description: 'Knows what words mean.',
        setup(svc) {
          const words = new Map([['plugin', 'a file that adds something']])
          svc.provide(Lexicon, { meaning: word => words.get(word) })
        },
      })
    `,
    test: `
      import { testHost } from 'svc/testing'
      import { expect, it } from 'vitest'
      import plugin, { Lexicon } from './NAME.ts'

      it('knows words while the plugin is live', async () => {
        await using host = await testHost()
        await host.kernel.host.add(plugin)
        expect(host.kernel.use(Lexicon).meaning('plugin')).toBe('a file that adds something')
        await host.kernel.host.remove('NAME')
        expect(() => host.kernel.use(Lexicon)).toThrow('No plugin provides')
      })
    `,
  },
}
