import { createHash } from 'node:crypto'
import type { Store } from '#platform/store/contract'
import type { ToolCall } from '../contract.ts'

/** Maximum number of contents remembered, of all goals together; the one recorded longest ago is forgotten first. */
const MAX_SEEN = 20_000

/** An agent's knowledge of a file: unread, its current content, or an earlier content. */
export type Knowledge = 'unread' | 'current' | 'changed'

/**
 * Remembers, as a hash, which content of a file an agent last read or wrote in its goal. Kept in memory only: after a
 * restart, and in another daemon, a file counts as unread.
 */
export class SeenFiles {
  readonly #hashes = new Map<string, string>()

  /** Records that the agent of a call knows this content of a file. @param real the file's real path */
  add(call: ToolCall, real: string, bytes: Uint8Array): void {
    const key = keyOf(call, real)
    this.#hashes.delete(key)
    this.#hashes.set(key, hashOf(bytes))
    if (this.#hashes.size > MAX_SEEN) this.#hashes.delete(this.#hashes.keys().next().value!)
  }

  /** Returns what the agent of a call knows of a file that has this content now. */
  knowledge(call: ToolCall, real: string, bytes: Uint8Array): Knowledge {
    const seen = this.#hashes.get(keyOf(call, real))
    if (seen === undefined) return 'unread'
    return seen === hashOf(bytes) ? 'current' : 'changed'
  }
}

/** Returns when a call's approval was requested, in milliseconds; undefined for a call without one. */
export async function approvalAskedAt(store: Store, call_id: string): Promise<number | undefined> {
  const row = await store.get<{ created_at: number }>(
    `SELECT a.created_at FROM tool_calls_view c JOIN approvals_view a ON a.approval_id = c.approval_id WHERE c.call_id = ?`,
    [call_id],
  )
  return row?.created_at
}

/** Tasks and conversations have no goal; those of one agent count as one. */
function keyOf({ agent_id, goal_id }: ToolCall, real: string): string {
  return `${goal_id ?? agent_id}\0${real}`
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64')
}
