import { createHash } from 'node:crypto'
import { canonicalJson } from '#core/runtime/contract'

/** Arguments as they are stored, shown, hashed and run: one text for one value. */
export interface Canonical {
  json: string
  sha256: string
}

export function canonical(value: unknown): Canonical {
  const json = canonicalJson(value)
  return { json, sha256: createHash('sha256').update(json).digest('hex') }
}
