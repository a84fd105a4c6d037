import { z } from '#kernel'
import { defineEffect, type Statement } from '#platform/store/contract'

const Written = z.custom<readonly Statement[]>(Array.isArray)

/** Repeats a write of another process, statement by statement. */
export const statements = defineEffect({
  name: 'recordings.statements',
  schema: Written,
  statements: written => [...written],
})
