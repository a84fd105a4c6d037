import { expect, it } from 'vitest'
import { Operations, SvcError } from '#kernel'
import { Store } from '#platform/store/contract'
import { BUILTINS } from '../../builtins/index.ts'
import { testHost } from '../support/index.ts'
import { postgresOr, testDatabase } from '../support/postgres.ts'

const server = await postgresOr(reason => console.warn(`PostgreSQL is left out: ${reason}`))

/** Operations that end the process or call the outside world. */
const NOT_HERE = /^(daemon\.(stop|restart)|service\.|benchmark\.|demos?\.|simulation\.|mcp\.)/

it.skipIf(!server)(
  'operations answer or fail with a proper error on PostgreSQL, and never with an SQL error',
  async () => {
    const database = await testDatabase(server!)
    try {
      await using home = await testHost({
        builtins: BUILTINS,
        roles: ['server'],
        clock: 'system',
        env: { SVC_STORE_URL: database.url },
        config: { model: { sim_delay: 0 }, retention: { enabled: true } },
      })
      const { kernel } = home
      const { agent_id: id } = (await kernel.invoke('agents.spawn', { preset: 'writer' })) as { agent_id: string }
      await kernel.heartbeat.step()
      await kernel.heartbeat.step()
      await kernel.heartbeat.step()
      const inputs = [
        {},
        { id },
        { id, message: 'hello', query: 'hello', text: 'hello', objective: 'Write about the sea' },
        { dry_run: true },
        { days: 1 },
      ]
      const wrong: string[] = []
      const asked = kernel
        .list(Operations)
        .filter(({ name }) => !NOT_HERE.test(name) && !/delete|kill|reset/.test(name))
      for (const { name } of asked) {
        for (const input of inputs) {
          const call = new AbortController()
          const answer = kernel.invoke(name, input, { signal: call.signal, tenant: 'default' })
          const done = answer.then(
            async value => {
              // Closes a stream that has begun.
              const stream = value as AsyncIterator<unknown> | null
              if (typeof stream === 'object' && stream !== null && 'return' in stream) await stream.return?.()
            },
            (error: Error & { code?: string }) => {
              if (!(error instanceof SvcError) || /^[0-9A-Z]{5}$/.test(error.code ?? ''))
                wrong.push(`${name} ${JSON.stringify(input)}: ${error.message}`)
            },
          )
          await Promise.race([done, new Promise(resolve => setTimeout(resolve, 5_000))])
          call.abort()
        }
      }
      expect(wrong).toEqual([])
      expect(asked.length).toBeGreaterThan(80)
      expect(
        home.log
          .filter(({ msg }) =>
            /syntax error|does not exist|operator does not|column|type boolean|type bigint/.test(msg),
          )
          .map(({ msg }) => msg),
      ).toEqual([])
      await kernel.use(Store).health()
    } finally {
      await database.drop()
    }
  },
)
