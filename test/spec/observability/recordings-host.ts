import { definePlugin, z } from '#kernel'
import { Recordings } from '#observability/recordings/contract'
import { Daemon } from '#platform/daemon/contract'
import { tool } from '#tools/toolkits/contract'
import { BUILTINS } from '../../../builtins/index.ts'
import { listen } from '../../interfaces/rest/rest-server.ts'
import {
  fault,
  type ModelServerRequest,
  modelServer,
  type Script,
  type TestHost,
  type TestHostOptions,
  testHost,
  text,
  together,
  toolCall,
} from '../../support/index.ts'
import { asksForGoal, WORKER } from '../core/models/model-host.ts'

/** A tool that needs approval, one with a random result, and one that fails. */
const hands = definePlugin({
  name: 'hands',
  setup(svc) {
    let n = 0
    const parameters = z.object({ to: z.string().optional() })
    svc.toolkit({
      name: 'hands',
      tools: [
        tool({
          name: 'send',
          description: 'Sends.',
          parameters,
          requires_approval: true,
          execute: () => `sent ${++n}`,
        }),
        tool({ name: 'look', description: 'Looks.', parameters, execute: async () => `saw ${Math.random()}` }),
        tool({
          name: 'slip',
          description: 'Fails.',
          parameters,
          execute() {
            throw new Error(`slipped ${++n}`)
          },
        }),
      ],
    })
  },
})

/** Starts a daemon with all modules in this process and a scripted model over HTTP; `ask` calls its REST API. */
export async function testHostWithRecordings(
  script: Script,
  config: Record<string, unknown> = {},
  options: TestHostOptions = {},
) {
  const server = await modelServer({ script })
  const home = await testHost({
    ...options,
    builtins: [...BUILTINS, ...(options.builtins ?? [hands])],
    roles: ['daemon', 'server'],
    clock: 'system',
    files: { 'profiles/worker.yaml': WORKER, ...options.files },
    config: {
      approval: { enabled: true },
      model: { retry_delay: 0.01 },
      ...config,
      daemon: { heartbeat: 0.2, min_rest: 0, ...(config.daemon as object) },
    },
    env: {
      OPENAI_BASE_URL: server.url,
      OPENAI_API_KEY: 'test-key-of-the-project',
      OPENAI_MODEL: 'scripted',
      ...options.env,
    },
  })
  const { ask: request } = await listen(home.kernel)
  const ask = async (method: string, path: string, body?: unknown) => (await request(path, { method, body })).json
  const close = home.close.bind(home)
  return Object.assign(home, {
    ask,
    server,
    start: () => home.kernel.use(Daemon).start(),
    stop: () => home.kernel.use(Daemon).stop(),
    async close() {
      await close()
      await server.close()
    },
  })
}

/** Returns a model that varies its answers, decided by a seeded generator and the prompt. */
export function busyModel(seed: number) {
  let n = seed
  let goals = 0
  return (request: ModelServerRequest) => {
    n = (n * 1103515245 + 12345) % 2 ** 31
    const pick = (n >> 8) % 12
    if (pick === 11) return fault('500')
    if (asksForGoal(request)) {
      if (pick === 10) return text('nothing')
      const word = `${++goals}`.replace(/\d/g, digit => 'qwertzuiop'[Number(digit)]!)
      return text(JSON.stringify({ goal: `${word} ${word}x write ${word}y of ${word}z`, reasoning: 'why not' }))
    }
    const call = (name: string, args: object = {}) => toolCall(name, args, `call_${request.n}_${name}`)
    const turns = [
      () => call('look', { to: `n${n}` }),
      () => call('file_write', { path: `a${pick}.txt`, content: `text ${n}` }),
      () => together(call('look'), call('slip'), call('file_read', { path: 'a1.txt' })),
      () => call('send', { to: `n${n}` }),
      () => call('remember', { content: `something ${n} to keep` }),
      () => call('no_such_tool'),
      () => text('I think that is enough.'),
      () => call('finish_goal', { summary: `done with ${n}` }),
      () => call('notepad_write', { text: `note ${n}` }),
      () => toolCall('file_write', '{"path": "cut'),
      () => call('slip'),
    ]
    return turns[pick]!()
  }
}

export const runsOf = async ({ kernel }: TestHost) => (await kernel.use(Recordings).list()).map(({ run_id }) => run_id)
export const runOf = async (home: TestHost) => (await runsOf(home))[0]!

export const replayOf = async ({ kernel }: TestHost, run_id: string) =>
  kernel.use(Recordings).replay(run_id, { signal: new AbortController().signal })
