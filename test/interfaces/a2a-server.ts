import { type Message, Role, type SendMessageRequest, type Task } from '@a2a-js/sdk'
import {
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
} from '@a2a-js/sdk/client'
import a2aProtocol from '#interfaces/a2a-protocol/index'
import rest from '#interfaces/rest/index'
import { testHostWithTasks } from '../spec/core/tasks/tasks-host.ts'
import type { Script, TestHostOptions } from '../support/index.ts'
import { listen } from './rest/rest-server.ts'

export { spawn } from '../spec/core/models/model-host.ts'

export const OPEN = { a2a: { public: { enabled: true } } }

/** Starts a server whose agents are reachable over the Agent2Agent protocol. */
export async function startA2aServer(script: Script, options: TestHostOptions = {}) {
  const home = await testHostWithTasks(script, {
    config: OPEN,
    clock: 'system',
    ...options,
    builtins: [rest, a2aProtocol, ...(options.builtins ?? [])],
  })
  const { listening, url, ask, send } = await listen(home.kernel)
  const close = home.close.bind(home)
  return Object.assign(home, {
    url,
    ask,
    rpc: (path: string, method: string, params: unknown, headers: Record<string, string> = {}) =>
      send(path, { jsonrpc: '2.0', id: 7, method, params }, headers),
    async close() {
      await listening.close()
      await close()
    },
  })
}

const message = (said: string, more: Partial<Message> = {}): Message => ({
  messageId: `m-${said}`,
  contextId: '',
  taskId: '',
  role: Role.ROLE_USER,
  metadata: undefined,
  extensions: [],
  referenceTaskIds: [],
  parts: [{ content: { $case: 'text', value: said }, metadata: undefined, filename: '', mediaType: 'text/plain' }],
  ...more,
})
export const request = (said: string, more: Partial<Message> = {}, returnImmediately = false): SendMessageRequest => ({
  tenant: '',
  message: message(said, more),
  metadata: undefined,
  configuration: { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately },
})
export const clientOf = (url: string, agent: string, headers: Record<string, string> = {}) => {
  const fetchImpl: typeof fetch = (input, init) =>
    fetch(input, { ...init, headers: { ...(init?.headers as Record<string, string>), ...headers } })
  const factory = new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [new JsonRpcTransportFactory({ fetchImpl })],
      cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
    }),
  )
  return factory.createFromUrl(url, `/a2a/${agent}/.well-known/agent-card.json`)
}
export const sayOf = ({ artifacts }: Task) =>
  artifacts
    .flatMap(({ parts }) => parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')))
    .join('')
