import { formatUsd } from '#lib/usd'
import type { ModelResult, ShareInterval } from '../contract.ts'

/** Formats of figures, for the table and the page. */
export const percent = (share: number | null) => (share === null ? '-' : `${Math.round(share * 100)} %`)

export function interval(value: ShareInterval | null): string {
  return value ? `${Math.round(value.low * 100)} to ${Math.round(value.high * 100)} %` : '-'
}

export function duration(ms: number): string {
  return ms >= 1_000 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.round(ms)} ms`
}

export function cost({ cost_usd, priced, estimated }: Pick<ModelResult, 'cost_usd' | 'priced' | 'estimated'>): string {
  if (priced === 'unknown') return 'unknown: no price is known'
  const unsure = priced === 'mixed' || estimated ? ' (partly estimated)' : ''
  return `${formatUsd(cost_usd)}${unsure}`
}

export function failures({ failures }: Pick<ModelResult, 'failures'>): string {
  return failures.map(({ kind, count }) => `${kind} ${count}`).join(', ') || 'none'
}

/** Returns the model's name as given, with the resolved name and notice in parentheses. */
export function nameOf({ asked, model, notice }: Pick<ModelResult, 'asked' | 'model' | 'notice'>): string {
  const resolved = model !== null && model !== asked ? [model] : []
  const more = [...resolved, ...(notice ? [notice] : [])].join('; ')
  return more ? `${asked} (${more})` : asked
}
