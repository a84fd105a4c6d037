import { hash } from 'node:crypto'
import { canonicalJson } from '#core/runtime/contract'
import { errorMessage, invoke, type Operation, type PluginHandle, parse, z } from '#kernel'
import { defineEffect, Store } from '#platform/store/contract'
import { IdempotencyKeyReusedError, IdempotencyOutcomeUnknownError, RequestUnderWayError } from '../contract.ts'
import type { RestCall } from './call.ts'

/** Time for which an answer is kept, in milliseconds. */
const KEPT_MS = 24 * 60 * 60 * 1000
/** Time after which a request without an answer is one whose process died, in milliseconds. */
const RUNNING_MS = 60_000
/** Value of `Retry-After` for a request that is still running, in seconds. */
const RETRY_AFTER_S = 1

interface KeyRow {
  request_id: string
  request_hash: string
  /** 1 when what the request creates is committed, else 0. */
  written: number
  /** Output as JSON; null until there is one. */
  answer: string | null
  created_at: number
}

/** Key with the request that holds it. */
const HeldAnswer = z.object({ user_id: z.string(), route: z.string(), key: z.string(), request_id: z.string() })
type HeldAnswer = z.infer<typeof HeldAnswer>

const HELD = 'user_id = ? AND route = ? AND key = ? AND request_id = ? AND answer IS NULL'
const keyOfAnswer = ({ user_id, route, key, request_id }: HeldAnswer) => [user_id, route, key, request_id]

/** Removes expired keys. */
const forgetKeys = defineEffect({
  name: 'rest.forget_keys',
  schema: z.object({}),
  statements: (_, now) => ({ sql: 'DELETE FROM idempotency_keys WHERE created_at < ?', params: [now - KEPT_MS] }),
})

/**
 * Claims a key. Fails when another request holds the key, unless that request's process died before writing anything.
 */
const claimKey = defineEffect({
  name: 'rest.claim_key',
  mustChange: true,
  schema: HeldAnswer.extend({ request_hash: z.string() }),
  statements: ({ request_hash, ...held }, now) => ({
    sql: `INSERT INTO idempotency_keys AS known (user_id, route, key, request_id, request_hash, created_at)
          VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (user_id, route, key) DO UPDATE
          SET request_id = excluded.request_id, request_hash = excluded.request_hash, created_at = excluded.created_at
          WHERE known.written = 0 AND known.answer IS NULL AND known.created_at < ?`,
    params: [...keyOfAnswer(held), request_hash, now, now - RUNNING_MS],
  }),
})

/** Committed with what the request creates: the whole commit fails when another request holds the key by now. */
const markWritten = defineEffect({
  name: 'rest.mark_written',
  mustChange: true,
  schema: HeldAnswer,
  statements: held => ({ sql: `UPDATE idempotency_keys SET written = 1 WHERE ${HELD}`, params: keyOfAnswer(held) }),
})

const keepAnswer = defineEffect({
  name: 'rest.keep_answer',
  schema: HeldAnswer.extend({ answer: z.string() }),
  statements: ({ answer, ...held }) => ({
    sql: `UPDATE idempotency_keys SET written = 1, answer = ? WHERE ${HELD}`,
    params: [answer, ...keyOfAnswer(held)],
  }),
})

/** Frees the key of a request that failed before it wrote anything. */
const releaseKey = defineEffect({
  name: 'rest.release_key',
  schema: HeldAnswer,
  statements: held => ({
    sql: `DELETE FROM idempotency_keys WHERE ${HELD} AND written = 0`,
    params: keyOfAnswer(held),
  }),
})

export const KEY_EFFECTS = [forgetKeys, claimKey, markWritten, keepAnswer, releaseKey]

/** A request with an Idempotency-Key. */
export interface KeyedRequest {
  operation: Operation
  input: Readonly<Record<string, unknown>>
  call: RestCall
  key: string
  /** Method and path; a key is valid for one user and one route. */
  route: string
  /** Masks secrets in JSON. */
  hide: (json: string) => string
}

/**
 * Runs an operation once for all requests with the same key, and returns the output of that one run to each.
 * @throws IdempotencyKeyReusedError, RequestUnderWayError, IdempotencyOutcomeUnknownError, and what the operation throws
 */
export async function runIdempotently(
  svc: PluginHandle,
  { operation, input, call, key, route, hide }: KeyedRequest,
): Promise<unknown> {
  const store = svc.use(Store)
  const held: HeldAnswer = { user_id: call.tenant, route, key, request_id: call.request_id }
  const request_hash = hash('sha256', canonicalJson(parse(operation.input, input, 'The request')))
  do {
    const answer = await answerTo(svc, held, request_hash)
    if (answer !== undefined) {
      call.replayed?.()
      return JSON.parse(answer)
    }
  } while (!(await store.apply([forgetKeys({}), claimKey({ ...held, request_hash })])))

  call.effects = [markWritten(held)]
  const settle = (effect: ReturnType<typeof releaseKey>) =>
    store.apply([effect]).catch(error => svc.log.warn({ request_id: call.request_id }, errorMessage(error)))
  try {
    const output = await invoke(operation, input, call)
    await settle(keepAnswer({ ...held, answer: hide(JSON.stringify(output ?? null)) }))
    return output
  } catch (error) {
    await settle(releaseKey(held))
    throw error
  }
}

/** Returns the answer to an earlier request with the key, as JSON; undefined where this request may run. */
async function answerTo(svc: PluginHandle, { key, user_id, route }: HeldAnswer, request_hash: string) {
  const now = svc.clock.ms()
  const known = await svc.use(Store).get<KeyRow>(
    `SELECT request_id, request_hash, written, answer, created_at FROM idempotency_keys
       WHERE user_id = ? AND route = ? AND key = ? AND created_at >= ?`,
    [user_id, route, key, now - KEPT_MS],
  )
  if (!known) return undefined
  if (known.request_hash !== request_hash)
    throw new IdempotencyKeyReusedError({ earlier: `request ${known.request_id}` })
  if (known.answer !== null) return known.answer
  if (known.created_at >= now - RUNNING_MS) throw new RequestUnderWayError(undefined, { retryAfter: RETRY_AFTER_S })
  if (known.written === 1) throw new IdempotencyOutcomeUnknownError()
  return undefined
}
