import { type Contribution, type Effect, type PluginHandle, parse, z } from '#kernel'
import { recordInput } from '#lib/recording-context'
import { Guardrails, type Stage, WITHHELD } from '#safety/guardrails/contract'
import { News, type NewsSource, sanitize } from '../contract.ts'

/** What an agent reads in place of a message that a guardrail blocked. */
const BLOCKED = '[A message was withheld by a guardrail.]'

/** A nudge as the agent reads it: cleaned always, checked when guardrails are on. */
export function sanitizeNudge(svc: PluginHandle, agent_id: string, message: string): Promise<string> {
  return checkText(svc, 'input', agent_id, sanitize(message), BLOCKED)
}

const effects = z.array(z.custom<Effect>())
/** `told` is the earlier name of `acknowledgements`; it is accepted for one version. */
const SourceNews = z
  .object({
    items: z.array(z.object({ from: z.string(), text: z.string() })),
    acknowledgements: effects.optional(),
    told: effects.optional(),
  })
  .transform(({ items, acknowledgements, told }) => ({ items, acknowledgements: acknowledgements ?? told ?? [] }))

/** What one source has for an agent. @throws InvalidInputError that names it, for what is no news */
export async function newsOf({ owner, value: source }: Contribution<NewsSource>, agent_id: string) {
  return parse(SourceNews, await source.news(agent_id), `The answer of the news source "${source.name}" of ${owner}`)
}

/** Sources that had nothing for an agent, with its wake counter then. */
interface Silence {
  wakes: number
  sources: readonly Contribution<NewsSource>[]
}
const silences = new WeakMap<PluginHandle, Map<string, Silence>>()

/**
 * Returns what reached an agent from others than the operator, each cleaned and checked, the writes once it is read, and
 * whether there may be more. Sources that wake the agent are not asked again while it was not woken.
 * @param wakes the agent's wake counter, read before
 */
export async function newsFor(
  svc: PluginHandle,
  agent_id: string,
  wakes: number,
): Promise<{ texts: string[]; acknowledgements: Effect[]; more: boolean }> {
  const all = svc.contributions(News)
  const known = silences.get(svc) ?? new Map<string, Silence>()
  silences.set(svc, known)
  const isSilent = await recordInput('silent', async () => {
    const silence = known.get(agent_id)
    return silence?.wakes === wakes && silence.sources === all ? true : null
  })
  const sources = isSilent ? all.filter(({ value }) => value.portion === undefined) : all
  const found = await Promise.all(sources.map(source => newsOf(source, agent_id)))
  if (found.every(({ items }) => items.length === 0)) known.set(agent_id, { wakes, sources: all })
  const more = found.some(({ items }, n) => items.length >= (sources[n]?.value.portion ?? Number.POSITIVE_INFINITY))
  const texts = found.flatMap(({ items }) =>
    items.map(async ({ from, text }) => `${from}: ${await checkText(svc, 'peer', agent_id, sanitize(text), BLOCKED)}`),
  )
  return {
    texts: await Promise.all(texts),
    acknowledgements: found.flatMap(({ acknowledgements }) => acknowledgements),
    more,
  }
}

/** What came of work that others may have done, cleaned and checked as what they write. */
export function redactIncoming(svc: PluginHandle, agent_id: string, result: string): Promise<string> {
  return checkText(svc, 'peer', agent_id, sanitize(result), BLOCKED)
}

/** What an agent says it achieved, as people read it. */
export function redactOutput(svc: PluginHandle, agent_id: string, result: string): Promise<string> {
  return checkText(svc, 'output', agent_id, result, WITHHELD)
}

async function checkText(svc: PluginHandle, stage: Stage, agent_id: string, text: string, notice: string) {
  if (!svc.has(Guardrails)) return text
  const { action, text: clean } = await svc.use(Guardrails).check(stage, text, { agent_id })
  return action === 'block' ? notice : clean
}
