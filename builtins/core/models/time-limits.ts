import type { Issue, PluginHandle } from '#kernel'
import type { ConfigCheck, ConfigValues } from '#platform/settings/contract'

/** Two time limits of which the inner one is to be the shorter. */
interface Nested {
  inner: string
  outer: string
  /** Consequence if the inner limit is not shorter. */
  otherwise: string
}

const NESTED: readonly Nested[] = [
  {
    inner: 'model.idle_timeout',
    outer: 'model.total_timeout',
    otherwise: 'a stalled stream fails without another attempt',
  },
  {
    inner: 'model.first_byte_timeout',
    outer: 'daemon.cycle_timeout',
    otherwise: 'the cycle ends before a model that is slow to start can answer',
  },
  {
    inner: 'model.total_timeout',
    outer: 'daemon.cycle_timeout',
    otherwise: 'the cycle ends during a long answer, and no fallback model is tried',
  },
  {
    inner: 'daemon.tool_timeout',
    outer: 'daemon.cycle_timeout',
    otherwise: 'the cycle ends while a slow tool runs, and the agent never reads that the tool failed',
  },
]

/**
 * Checks that each time limit is shorter than the one around it. Skips limits of 0, which are disabled or follow the
 * others.
 */
export const timeLimitsCheck: ConfigCheck = {
  name: 'time limits',
  forbids: 'nothing',
  check: ({ get }) => NESTED.flatMap(nested => issueOf(nested, get)),
}

function issueOf({ inner, outer, otherwise }: Nested, get: ConfigValues['get']): Issue[] {
  const [short, long] = [Number(get(inner) ?? 0), Number(get(outer) ?? 0)]
  if (short === 0 || long === 0 || short < long) return []
  const remedy = `set ${outer} above ${short}, or ${inner} below ${long}`
  return [{ path: inner, message: `is ${short} s and ${outer} is ${long} s, so ${otherwise}; ${remedy}` }]
}

/** Logs a warning for each inner time limit that is not shorter than its outer one. */
export function warnOfTimeLimits({ config, log }: PluginHandle): void {
  const get = (key: string) => config.get(key)
  for (const { path, message } of NESTED.flatMap(nested => issueOf(nested, get))) log.warn({}, `${path} ${message}`)
}
