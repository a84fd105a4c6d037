import { type MeasuredCall, Models } from '#core/models/contract'
import type { PluginHandle } from '#kernel'
import { brief } from '#lib/brief'
import { recordInput } from '#lib/recording-context'
import { textTokens } from '#lib/text-tokens'
import { isoTime, Store } from '#platform/store/contract'
import { nudgesBefore } from '../repository.ts'
import { sanitizeNudge } from './guarded.ts'

/** Maximum share of the model's context window for the operator's messages in one step. */
const WINDOW_SHARE = 0.2
/** Number of earlier messages that are shown again, and the maximum length of each, in characters. */
const EARLIER = 3
const EARLIER_LENGTH = 400
const EARLIER_HEADING =
  'Earlier messages from the operator, newest first. You have read them. What they asked for once may be done already; rules and wishes in them still hold:'
/** Messages up to this size fit any window, in tokens. */
const ALWAYS_FITTING_TOKENS = 400

/**
 * Returns the oldest messages of the operator that fit one step, at least one, and the number left for the next steps.
 */
export async function fitNudges<Nudge extends { message: string }>(
  svc: PluginHandle,
  nudges: readonly Nudge[],
  call: Pick<MeasuredCall, 'model' | 'purpose'>,
): Promise<{ nudges: readonly Nudge[]; waiting: number }> {
  const sizes = nudges.map(({ message }) => textTokens(message))
  if (nudges.length < 2 || sizes.reduce((sum, each) => sum + each, 0) <= ALWAYS_FITTING_TOKENS)
    return { nudges, waiting: 0 }
  const limit = await recordInput('window', async () => {
    const report = await svc.use(Models).measure?.({ ...call, messages: [], tools: [], max_tokens: 1 })
    // The ratio converts our estimates, such as `sizes`, to the model's own tokens.
    return report ? (report.window / report.ratio) * WINDOW_SHARE : null
  })
  if (limit === null) return { nudges, waiting: 0 }
  let remaining = limit
  const firstWaiting = sizes.findIndex((size, index) => {
    remaining -= size
    return index > 0 && remaining < 0
  })
  return firstWaiting < 0
    ? { nudges, waiting: 0 }
    : { nudges: nudges.slice(0, firstWaiting), waiting: nudges.length - firstWaiting }
}

/** Repeats the last messages of the operator that the agent has read before a time; undefined where there are none. */
export async function earlierMessages(
  svc: PluginHandle,
  agent_id: string,
  before: number,
): Promise<string | undefined> {
  const nudges = await nudgesBefore(svc.use(Store), agent_id, before, EARLIER)
  if (nudges.length === 0) return undefined
  const lines = nudges.map(async ({ message, delivered_at }) => {
    const text = await sanitizeNudge(svc, agent_id, message, true)
    return `- ${isoTime(delivered_at).slice(0, 10)}: ${brief(text, EARLIER_LENGTH)}`
  })
  return [EARLIER_HEADING, ...(await Promise.all(lines))].join('\n')
}
