import { Agents } from '#core/agents/contract'
import { type ProtocolExchange, ProtocolRoutes } from '#interfaces/rest/contract'
import { definePlugin } from '#kernel'
import { packageVersion } from '#lib/package-version'
import { addressOf, versionIn } from './address.ts'
import { agentCard, serviceCard } from './card.ts'
import { PublicConfig } from './config.ts'
import { Peer } from './peer.ts'
import { speaker } from './speak.ts'

export default definePlugin({
  name: 'a2a-protocol',
  description:
    'Lets external agents discover the agents of this service and send them tasks, by the Agent2Agent protocol. Off by default.',
  needs: ['agents', 'sessions', 'tasks'],
  section: 'a2a.public',
  config: PublicConfig,
  setup(svc, config) {
    if (!config.enabled) return
    const answer = ({ response }: ProtocolExchange, card: unknown) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(card))
    }
    const placeOf = async (exchange: ProtocolExchange) => ({
      base: addressOf(config, exchange),
      version: await packageVersion(svc.ports),
      old: versionIn(exchange.request) === '0.3',
    })
    const handle = speaker(svc, new Peer(svc, config))
    svc.add(ProtocolRoutes, {
      path: '/.well-known/agent-card.json',
      methods: ['GET'],
      handle: async exchange => answer(exchange, await serviceCard(svc, await placeOf(exchange))),
    })
    svc.add(ProtocolRoutes, {
      path: '/a2a/{id}/.well-known/agent-card.json',
      methods: ['GET'],
      async handle(exchange) {
        const agent = await svc.use(Agents).find(exchange.params.id ?? '')
        answer(exchange, await agentCard(svc, await placeOf(exchange), agent))
      },
    })
    svc.add(ProtocolRoutes, { path: '/a2a', methods: ['POST'], handle })
    svc.add(ProtocolRoutes, { path: '/a2a/{id}', methods: ['POST'], handle })
  },
})
