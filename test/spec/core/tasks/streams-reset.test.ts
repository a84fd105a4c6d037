import { type Message, Role } from '@a2a-js/sdk'
import {
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
} from '@a2a-js/sdk/client'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { TaskResponse } from '#core/tasks/contract'
import a2aProtocol from '#interfaces/a2a-protocol/index'
import { createClient } from '#interfaces/rest/client'
import { Rest } from '#interfaces/rest/contract'
import rest from '#interfaces/rest/index'
import {
  type Reply,
  refuse,
  type Script,
  type TestHostOptions,
  text,
  together,
  toolCall,
} from '../../../support/index.ts'
import { spawn } from '../models/model-host.ts'
import { testHostWithTasks } from './tasks-host.ts'

const LONG = 'It is four, and it will stay four for as long as anybody counts.'
const FAST = { model: { retry_delay: 0, breaker_failures: 0 } }

/** An answer that breaks off after this text. The server chooses how to split it. */
const cut = (said: string, mode: 'cleancut' | 'rst' = 'cleancut'): Reply => ({ kind: 'breakage', mode, text: said })

/** Starts a listening server with one agent, and clients of it. */
async function startServer(script: Script, options: TestHostOptions = {}) {
  const config = { ...FAST, a2a: { public: { enabled: true } } }
  const home = await testHostWithTasks(script, { clock: 'system', config, ...options, builtins: [rest, a2aProtocol] })
  const listening = await home.kernel.use(Rest).listen({ host: '127.0.0.1', port: 0 })
  const id = await spawn(home)
  const factory = new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [new JsonRpcTransportFactory({})],
      cardResolver: new DefaultAgentCardResolver({}),
    }),
  )
  const close = home.close.bind(home)
  return Object.assign(home, {
    id,
    url: listening.url,
    client: createClient({ baseUrl: listening.url }),
    a2a: await factory.createFromUrl(listening.url, `/a2a/${id}/.well-known/agent-card.json`),
    async close() {
      await listening.close()
      await close()
    },
  })
}

type StartedServer = Awaited<ReturnType<typeof startServer>>
type Stream = ReturnType<StartedServer['client']['tasks']['follow']>

/** Returns what a reader of a stream sees at its end, and the task. Passes each event to `look` as it arrives. */
async function seenIn(stream: Stream, look: (event: string, id: string) => unknown = () => {}) {
  let shown = ''
  let resets = 0
  try {
    for await (const { event, data, id } of stream) {
      if (event === 'token') shown += data.text
      else if (event === 'reset') {
        shown = ''
        resets++
      } else if (event === 'done') return { shown, resets, task: data as TaskResponse }
      await look(event, id!)
    }
  } catch (error) {
    return { shown, resets, task: (error as { cause: { task: TaskResponse } }).cause.task }
  }
  throw new Error('the stream has no end')
}

const ask = ({ client, id }: StartedServer, instruction = 'What is two and two?') =>
  client.tasks.stream({ id, instruction })

/** Returns the answer as the protocol's own client assembles it: a piece that is not appended replaces those before. */
async function seenByPeer({ a2a }: StartedServer, said: string): Promise<string> {
  const message: Message = {
    messageId: `m-${said}`,
    contextId: '',
    taskId: '',
    role: Role.ROLE_USER,
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
    parts: [{ content: { $case: 'text', value: said }, metadata: undefined, filename: '', mediaType: 'text/plain' }],
  }
  const configuration = {
    acceptedOutputModes: [],
    taskPushNotificationConfig: undefined,
    returnImmediately: false,
  }
  let shown = ''
  for await (const { payload } of a2a.sendMessageStream({ tenant: '', message, metadata: undefined, configuration })) {
    if (payload?.$case !== 'artifactUpdate') continue
    const { append, artifact } = payload.value
    const parts = artifact!.parts.map(({ content }) => (content?.$case === 'text' ? content.value : ''))
    shown = (append ? shown : '') + parts.join('')
  }
  return shown
}

describe('what readers see of an answer that starts again', () => {
  it('is the final output: a reset takes back the text of the attempt that broke off', async () => {
    await using home = await startServer(() => text(LONG))
    home.server.enqueue(cut('It is five'))
    const { shown, resets, task } = await seenIn(ask(home))
    expect([shown, resets, task.status, task.output]).toEqual([LONG, 1, 'completed', LONG])
  })

  it('is the final output of a fallback', async () => {
    const files = { 'profiles/worker.yaml': 'name: worker\nrole: works\nfallback: [openai:spare]\n' }
    await using home = await startServer(({ body }) => (body.model === 'spare' ? text(LONG) : cut('It is five')), {
      files,
    })
    const { shown, resets, task } = await seenIn(ask(home))
    expect([shown, task.output]).toEqual([LONG, LONG])
    expect(resets).toBeGreaterThan(0)
    expect(home.server.requests.at(-1)!.body.model).toBe('spare')
  })

  it('is the last text when no attempt succeeds, which is also the output of the failed task', async () => {
    await using home = await startServer(() => refuse(500, 'gone'))
    home.server.enqueue(cut('It is five'))
    const { shown, resets, task } = await seenIn(ask(home))
    expect([shown, resets, task.status, task.output]).toEqual(['It is five', 0, 'failed', 'It is five'])
  })

  it('is the final output for readers that join late, or that resume from a position before the reset', async () => {
    await using home = await startServer(() => text(LONG))
    home.server.enqueue(cut('It is five'), together(text('I look.'), toolCall('no_such_tool')))
    const places: string[] = ['0']
    const { task } = await seenIn(ask(home), (_, id) => places.push(id))
    const { task_id } = task
    expect(await seenIn(home.client.tasks.follow({ task_id }))).toMatchObject({ shown: LONG, resets: 0 })
    const stream = `${home.url}/tasks/${task_id}/stream`
    for (const place of places) {
      const whole = await (await fetch(stream, { headers: { 'last-event-id': place } })).text()
      const isBefore = Number(place) < Number(places.at(-1)) - LONG.length && place !== '0'
      expect(/^event: reset$/m.test(whole)).toBe(isBefore)
    }
  })

  it('is the final output for the Agent2Agent client', async () => {
    await using home = await startServer(() => text(LONG))
    home.server.enqueue(cut('It is five'))
    expect(await seenByPeer(home, 'What is two and two?')).toBe(LONG)
  })

  it('is the final output wherever models break off, think, or call tools in text', { timeout: 120_000 }, async () => {
    let left: Reply[] = []
    await using home = await startServer(() => left.shift() ?? text('All is well.'))
    const words = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
    const thoughts = words.map(said => `<think>${said}</think>\n\n${said}.`)
    const inText = words.map(said => `${said}\n\`\`\`tool_call\n{"name": "notepad_read", "arguments": {}}\n\`\`\``)
    const said = fc.oneof(words, thoughts, inText)
    const broken = fc
      .tuple(said, fc.nat(60), fc.constantFrom('cleancut' as const, 'rst' as const))
      .map(([whole, at, mode]) => cut(whole.slice(0, at), mode))
    const reply = fc.oneof(
      { weight: 3, arbitrary: broken },
      { weight: 2, arbitrary: said.map(each => text(each)) },
      { weight: 1, arbitrary: said.map(each => together(text(each), toolCall('no_such_tool'))) },
      { weight: 1, arbitrary: words.map(each => text(each, { finish_reason: 'length' })) },
      { weight: 1, arbitrary: fc.constant(refuse(500, 'gone')) },
    )
    let n = 0
    const property = fc.asyncProperty(fc.array(reply, { maxLength: 6 }), fc.boolean(), async (replies, isPeer) => {
      left = [...replies]
      const instruction = `Do ${++n}.`
      if (isPeer) {
        const shown = await seenByPeer(home, instruction)
        const [task] = await home.client.tasks.list({ id: home.id, limit: 1 })
        expect(shown).toBe(task!.output)
      } else {
        const { shown, task } = await seenIn(ask(home, instruction))
        expect(shown).toBe(task.output)
        const late = await seenIn(home.client.tasks.follow({ task_id: task.task_id }))
        expect(late).toMatchObject({ shown: task.output, resets: 0 })
      }
    })
    await fc.assert(property, { numRuns: 60 })
  })
})
