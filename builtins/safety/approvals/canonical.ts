import { createHash } from 'node:crypto'
import { canonicalJson } from '#core/runtime/contract'

/** Canonical JSON of arguments, as stored, shown, hashed and run, so that equal values give equal strings. */
export interface Canonical {
  json: string
  sha256: string
}

export function canonical(value: unknown): Canonical {
  const json = canonicalJson(value)
  return { json, sha256: createHash('sha256').update(json).digest('hex') }
}
