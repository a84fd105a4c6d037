import { z } from '#kernel'
import { defineEffect } from '#platform/store/contract'

/** Adds to a session's totals and marks it as active. A session without a subject gets the given one. */
export const sessionUsed = defineEffect({
  name: 'sessions.used',
  schema: z.object({
    session_id: z.string(),
    input_tokens: z.int().default(0),
    output_tokens: z.int().default(0),
    cost_micros: z.int().default(0),
    duration_ms: z.int().default(0),
    task: z.string().optional(),
  }),
  statements: ({ session_id, input_tokens, output_tokens, cost_micros, duration_ms, task }, now) => ({
    sql: `UPDATE sessions SET input_tokens = input_tokens + ?, output_tokens = output_tokens + ?,
            cost_micros = cost_micros + ?, duration_ms = duration_ms + ?, last_active = ?,
            task = CASE WHEN task = '' THEN ? ELSE task END
          WHERE session_id = ?`,
    params: [input_tokens, output_tokens, cost_micros, duration_ms, now, task ?? '', session_id],
  }),
})
