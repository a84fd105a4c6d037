import { type MeasuredCall, Models } from '#core/models/contract'
import type { PluginHandle } from '#kernel'
import { recordInput } from '#lib/recording-context'
import { textTokens } from '#lib/text-tokens'

/** Maximum share of the model's context window for the operator's messages in one step. */
const WINDOW_SHARE = 0.2
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
