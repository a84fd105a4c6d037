import { ProtocolRoutes } from '#interfaces/rest/contract'
import { definePlugin, Operations, type PluginHandle, ROLES } from '#kernel'
import { packageVersion } from '#lib/package-version'
import { Mcp, McpConfig, type McpList, type McpOffer, type McpPeer, McpPrompts, McpResources } from './contract.ts'
import { daemonOfferOf, offerOf } from './offer.ts'
import { PROMPTS } from './prompts.ts'
import { RESOURCES } from './published-resources.ts'
import { Sessions } from './transport/http.ts'
import { MAX_MESSAGE_BYTES } from './transport/rpc.ts'

export default definePlugin({
  name: 'mcp',
  description: 'Offers operations, resources and prompts to MCP clients, over standard input and output and at /mcp.',
  fixed: true,
  config: McpConfig,
  setup(svc, config) {
    const peers = new Set<McpPeer>()
    const changes = changesOf(svc)
    const serve = (peer: McpPeer, offer: McpOffer) => {
      changes.begin()
      peer.offer(offer)
      peers.add(peer)
      return () => void peers.delete(peer)
    }
    const sessions = new Sessions({
      svc,
      config,
      offer: offerOf(svc, config),
      version: () => packageVersion(svc.ports),
      serve: peer => serve(peer, offerOf(svc, config)),
    })

    for (const resource of RESOURCES) svc.add(McpResources, resource)
    for (const prompt of PROMPTS) svc.add(McpPrompts, prompt)
    svc.add(ProtocolRoutes, {
      path: '/mcp',
      methods: ['GET', 'POST', 'DELETE'],
      body_bytes: MAX_MESSAGE_BYTES,
      handle: exchange => sessions.answer(exchange),
    })
    svc.provide(Mcp, { serve: (peer, more = []) => serve(peer, daemonOfferOf(svc, config, more)) })
    svc.on('plugin_reloaded', ({ plugin, outcome }) => {
      const lists = changes.take()
      for (const peer of peers) {
        peer.notifyChanged(lists)
        peer.log(GOOD.has(outcome) ? 'info' : 'warning', `plugin ${plugin}: ${outcome}`)
      }
    })
    svc.start(() => () => sessions.close(), { in: ROLES })
  },
})

const GOOD = new Set(['loaded', 'reloaded', 'removed'])

/** Tracks which MCP lists change when plugins do. Changes are announced after each swap. */
function changesOf(svc: PluginHandle) {
  const now = () => ({
    tools: svc.contributions(Operations),
    resources: svc.contributions(McpResources),
    prompts: svc.contributions(McpPrompts),
  })
  let announced: ReturnType<typeof now> | undefined
  return {
    /** Starts from the current lists. Call it before the first `take`. */
    begin() {
      announced ??= now()
    },
    /** Returns the lists that changed since they were announced. An unchanged list is the same object. */
    take(): McpList[] {
      const before = announced
      announced = now()
      return (Object.keys(announced) as McpList[]).filter(list => before?.[list] !== announced?.[list])
    },
  }
}
