import type { MessageSource } from '#core/goals/contract'
import type { PluginHandle } from '#kernel'
import { Store } from '#platform/store/contract'
import { untrustedLines } from '#safety/net/contract'
import { amount } from '../contract.ts'
import { markOrdersReported, REPORTED_AT_ONCE, unreportedOrders } from './market.ts'

/** Reports orders to agents: to sellers the orders to deliver, to buyers the outcomes. */
export function orderMessages(svc: PluginHandle): MessageSource {
  return {
    name: 'market',
    portion: REPORTED_AT_ONCE,
    async pending(agent_id) {
      const orders = await unreportedOrders(svc.use(Store), agent_id)
      if (orders.length === 0) return { items: [], acknowledgements: [] }
      return {
        items: orders.map(({ order_id, title, seller, buyer, price, request, status, result }) => {
          if (seller === agent_id && status === 'open') {
            const text = `${title}: ${untrustedLines("the buyer's request", request)}\n(Deliver it with deliver_service and order_id ${order_id}.)`
            return { from: `${buyer} ordered from you for ${amount(price)}`, text }
          }
          if (status === 'delivered')
            return {
              from: `${seller} delivered ${order_id}`,
              text: `${title}: ${untrustedLines('the delivered result', result ?? '')}`,
            }
          return {
            from: `Your order ${order_id} was not delivered`,
            text: `You were refunded ${amount(price)} for: ${title}`,
          }
        }),
        acknowledgements: [markOrdersReported({ agent_id, order_ids: orders.map(order => order.order_id) })],
      }
    },
  }
}
