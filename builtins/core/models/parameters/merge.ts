import type { ModelParameters } from './contract.ts'

/** Merges parameters key by key, `extra` included. Earlier arguments take precedence. */
export function mergeParameters(...layers: readonly (ModelParameters | undefined)[]): ModelParameters {
  const given = layers.filter(layer => layer !== undefined).reverse()
  const merged: ModelParameters = Object.assign({}, ...given)
  const extra = Object.assign({}, ...given.map(layer => layer.extra))
  return Object.keys(extra).length > 0 ? { ...merged, extra } : merged
}
