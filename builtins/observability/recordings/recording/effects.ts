import { z } from '#kernel'
import { defineEffect, type Statement } from '#platform/store/contract'

const Written = z.custom<readonly Statement[]>(Array.isArray)

/** A write of another process, as it was written. */
export const statements = defineEffect({
  name: 'recordings.statements',
  schema: Written,
  statements: written => [...written],
})
