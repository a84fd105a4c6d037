import type { PluginHandle } from '#kernel'
import { addRetentionRule } from '#platform/retention/contract'
import { noteHorizon } from './repository.ts'

/**
 * Deletes old messages that were read, except those of a running pattern. Messages to the operator need not be read
 * first.
 */
export function forgetMessages(svc: PluginHandle): void {
  addRetentionRule(svc, {
    name: 'a2a_messages',
    key: 'message_id',
    where: `created_at < ? AND (read_at IS NOT NULL OR to_agent IS NULL) AND NOT EXISTS
      (SELECT 1 FROM a2a_patterns_view p WHERE p.pattern_id = a2a_messages.pattern_id AND p.status = 'running')`,
    also: message_ids => [noteHorizon(message_ids)],
  })
}
