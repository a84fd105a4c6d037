import { type Effect, z } from '#kernel'
import { countRows, defineEffect, insertInto, type Store, wakeAgents } from '#platform/store/contract'
import { accountOf, moveMoney } from './ledger.ts'

/** Maximum number of offers of one agent. */
export const MOST_OFFERS = 5
/** Heartbeats within which an order must be delivered; afterwards the buyer is refunded. */
export const DELIVERY_BEATS = 200
/** Maximum number of orders reported at a time. */
export const REPORTED_AT_ONCE = 20

export interface OfferRow {
  offer_id: string
  agent_id: string
  name: string
  title: string
  price: number
}

export interface OrderRow {
  order_id: string
  title: string
  seller: string
  buyer: string
  price: number
  request: string
  status: 'open' | 'delivered' | 'refunded'
  result: string | null
  due_beat: number
}

const OFFER = `SELECT o.offer_id, o.agent_id, a.name, o.title, o.price FROM world_offers o JOIN agents_view a ON a.agent_id = o.agent_id
  AND a.died_at IS NULL`
const ORDER = 'SELECT order_id, title, seller, buyer, price, request, status, result, due_beat FROM world_orders'

export function findOffer(store: Store, offer_id: string): Promise<OfferRow | undefined> {
  return store.get<OfferRow>(`${OFFER} WHERE o.offer_id = ?`, [offer_id])
}
/** Returns the offers, cheapest first. */
export function listOffers(store: Store, limit: number): Promise<OfferRow[]> {
  return store.all<OfferRow>(`${OFFER} ORDER BY o.price, o.offer_id LIMIT ?`, [limit])
}
export function numberOfOffers(store: Store, agent_id: string): Promise<number> {
  return countRows(store, 'FROM world_offers WHERE agent_id = ?', [agent_id])
}
export function findOrder(store: Store, order_id: string): Promise<OrderRow | undefined> {
  return store.get<OrderRow>(`${ORDER} WHERE order_id = ?`, [order_id])
}
/** Returns the open orders that an agent placed or must deliver. */
export function openOrders(store: Store, agent_id: string): Promise<OrderRow[]> {
  return store.all<OrderRow>(
    `${ORDER} WHERE status = 'open' AND (seller = ? OR buyer = ?) ORDER BY order_id LIMIT 20`,
    [agent_id, agent_id],
  )
}
export function unreportedOrders(store: Store, agent_id: string): Promise<OrderRow[]> {
  return store.all<OrderRow>(
    `${ORDER} WHERE seller = ? AND seller_told = 0 AND status = 'open'
     OR buyer = ? AND buyer_told = 0 AND status <> 'open' ORDER BY order_id LIMIT ?`,
    [agent_id, agent_id, REPORTED_AT_ONCE],
  )
}

export const insertOffer = defineEffect({
  name: 'world.offer',
  schema: z.object({ offer_id: z.string(), agent_id: z.string(), title: z.string(), price: z.int() }),
  statements: (row, now) =>
    insertInto('world_offers', { ...row, created_at: now }, 'ON CONFLICT (offer_id) DO NOTHING'),
})

export const deleteOffer = defineEffect({
  name: 'world.withdraw',
  schema: z.object({ offer_id: z.string(), agent_id: z.string() }),
  statements: ({ offer_id, agent_id }) => ({
    sql: 'DELETE FROM world_offers WHERE offer_id = ? AND agent_id = ?',
    params: [offer_id, agent_id],
  }),
})

/** Places an order. Refused when the offer was removed or its price changed. */
export const placeOrder = defineEffect({
  name: 'world.order',
  mustChange: true,
  schema: z.object({
    order_id: z.string(),
    offer_id: z.string(),
    buyer: z.string(),
    price: z.int(),
    request: z.string(),
    due_beat: z.int(),
  }),
  statements: ({ order_id, offer_id, buyer, price, request, due_beat }, now) => ({
    sql: `INSERT INTO world_orders (order_id, offer_id, title, seller, buyer, price, request, due_beat, created_at)
          SELECT ?, offer_id, title, agent_id, ?, price, ?, ?, ? FROM world_offers WHERE offer_id = ? AND price = ?
          ON CONFLICT (order_id) DO NOTHING`,
    params: [order_id, buyer, request, due_beat, now, offer_id, price],
  }),
})

/** Ends an order. Refused when it has ended already. */
export const endOrder = defineEffect({
  name: 'world.end_order',
  mustChange: true,
  schema: z.object({
    order_id: z.string(),
    status: z.enum(['delivered', 'refunded']),
    result: z.string().nullable(),
  }),
  statements: ({ order_id, status, result }, now) => ({
    sql: `UPDATE world_orders SET status = ?, result = ?, ended_at = ? WHERE order_id = ? AND status = 'open'`,
    params: [status, result, now, order_id],
  }),
})

export const markOrdersReported = defineEffect({
  name: 'world.orders_reported',
  schema: z.object({ agent_id: z.string(), order_ids: z.array(z.string()) }),
  statements: ({ agent_id, order_ids }) =>
    order_ids.map(order_id => ({
      sql: `UPDATE world_orders SET seller_told = CASE WHEN seller = ? THEN 1 ELSE seller_told END,
            buyer_told = CASE WHEN buyer = ? AND status <> 'open' THEN 1 ELSE buyer_told END WHERE order_id = ?`,
      params: [agent_id, agent_id, order_id],
    })),
})

/** Returns the writes that give back the escrow of work that will not be delivered. */
export async function endOrders(store: Store, beat: number): Promise<Effect[]> {
  const late = await store.all<{ order_id: string; buyer: string | null; price: number }>(
    `SELECT o.order_id, o.price, (SELECT a.agent_id FROM agents_view a WHERE a.agent_id = o.buyer) AS buyer FROM world_orders o
     WHERE o.status = 'open' AND (o.due_beat <= ? OR NOT EXISTS
       (SELECT 1 FROM agents_view a WHERE a.agent_id = o.seller AND a.died_at IS NULL)) ORDER BY o.order_id`,
    [beat],
  )
  return late.flatMap(({ order_id, buyer, price }) => [
    endOrder({ order_id, status: 'refunded', result: null }),
    moveMoney({
      entry_id: `refund:${order_id}`,
      beat,
      payer: 'escrow',
      amount: price,
      reason: 'refund',
      payee: buyer === null ? 'departed' : accountOf(buyer),
    }),
    ...(buyer === null ? [] : [wakeAgents({ agents: [buyer], reason: 'a refund' })]),
  ])
}

export const MARKET_EFFECTS = [insertOffer, deleteOffer, placeOrder, endOrder, markOrdersReported]
