import { type Contribution, type Effect, type PluginHandle, parse, z } from '#kernel'
import { recordInput } from '#lib/recording-context'
import { removeControlCharacters, sanitize } from '#lib/sanitize'
import { Guardrails, type Stage, WITHHELD } from '#safety/guardrails/contract'
import { type MessageSource, News, PendingMessages, type UnreadMessages } from '../contract.ts'

/** Text that an agent reads in place of a message blocked by a guardrail. */
const BLOCKED = '[A message was withheld by a guardrail.]'

/**
 * Returns a nudge as the agent reads it: always cleaned, and checked by guardrails when they are on.
 * @param again whether the agent has read it before
 */
export function sanitizeNudge(svc: PluginHandle, agent_id: string, message: string, again = false): Promise<string> {
  return checkText(svc, 'input', agent_id, sanitize(message), BLOCKED, again)
}

const effects = z.array(z.custom<Effect>())
/** `told` is the earlier name of `acknowledgements`; it is accepted for one version. */
const SourceAnswer = z
  .object({
    items: z.array(
      z.object({
        from: z.string(),
        text: z.string(),
        is_operator: z.boolean().optional(),
        is_report: z.boolean().optional(),
      }),
    ),
    acknowledgements: effects.optional(),
    told: effects.optional(),
  })
  .transform(({ items, acknowledgements, told }) => ({ items, acknowledgements: acknowledgements ?? told ?? [] }))

type Sources = readonly Contribution<MessageSource>[]
let latest: { of: readonly unknown[]; sources: Sources } | undefined

/** Returns all message sources, also those of the point's earlier name `News`; the same array until they change. */
export function messageSources(svc: PluginHandle): Sources {
  const [current, earlier] = [svc.contributions(PendingMessages), svc.contributions(News)]
  if (earlier.length === 0) return current
  if (latest?.of[0] !== current || latest.of[1] !== earlier) {
    const renamed = earlier.map(({ value, ...rest }) => ({
      ...rest,
      value: { name: value.name, ...portionOf(value), pending: (agent_id: string) => value.news(agent_id) },
    }))
    latest = { of: [current, earlier], sources: [...current, ...renamed] }
  }
  return latest.sources
}

function portionOf({ portion }: Pick<MessageSource, 'portion'>) {
  return portion === undefined ? {} : { portion }
}

/** Returns the unread messages of one source. @throws InvalidInputError that names the source if its answer is malformed */
export async function readSource(
  { owner, value: source }: Contribution<MessageSource>,
  agent_id: string,
  goal_id: string | null,
): Promise<UnreadMessages> {
  const what = `The answer of the message source "${source.name}" of ${owner}`
  return parse(SourceAnswer, await source.pending(agent_id, goal_id), what)
}

/** Sources without messages for an agent, and its goal and wake counter when they were asked. */
interface SilentSources {
  goal_id: string | null
  wakes: number
  sources: Sources
}
const silences = new WeakMap<PluginHandle, Map<string, SilentSources>>()
/** Maximum number of agents of which this is known. */
const MOST_SILENT = 100_000

/**
 * Returns messages to an agent besides nudges, each cleaned and checked, which of them are the operator's, the writes
 * that acknowledge them, and whether there may be more. Sources that wake the agent are not asked again until it was woken.
 * @param goal_id the goal that the agent pursues; null when it chooses one
 * @param wakes the agent's wake counter, read before
 */
export async function pendingMessagesFor(
  svc: PluginHandle,
  agent_id: string,
  goal_id: string | null,
  wakes: number,
): Promise<{ texts: string[]; orders: string[]; reports: string[]; acknowledgements: Effect[]; more: boolean }> {
  const all = messageSources(svc)
  const known = silences.get(svc) ?? new Map<string, SilentSources>()
  silences.set(svc, known)
  const isSilent = await recordInput('silent', async () => {
    const silence = known.get(agent_id)
    if (silence?.wakes !== wakes || silence.sources !== all) return null
    // An agent that chooses a goal has no other, so no message is for another one.
    if (goal_id === null) silence.goal_id = null
    return silence.goal_id === null || silence.goal_id === goal_id ? true : null
  })
  const sources = isSilent ? all.filter(({ value }) => value.portion === undefined) : all
  const found = await Promise.all(sources.map(source => readSource(source, agent_id, goal_id)))
  if (known.size >= MOST_SILENT) known.clear()
  if (found.every(({ items }) => items.length === 0)) known.set(agent_id, { goal_id, wakes, sources: all })
  const more = found.some(({ items }, n) => items.length >= (sources[n]?.value.portion ?? Number.POSITIVE_INFINITY))
  const items = found.flatMap(each => each.items)
  const texts = await Promise.all(
    items.map(
      async ({ from, text }) =>
        `${from}: ${await checkText(svc, 'peer', agent_id, removeControlCharacters(text), BLOCKED)}`,
    ),
  )
  return {
    texts,
    orders: texts.filter((_, n) => items[n]?.is_operator),
    reports: texts.filter((_, n) => items[n]?.is_report),
    acknowledgements: found.flatMap(({ acknowledgements }) => acknowledgements),
    more,
  }
}

/** Returns a result of work that other agents may have done, cleaned and checked like their messages. */
export function redactIncoming(svc: PluginHandle, agent_id: string, result: string): Promise<string> {
  return checkText(svc, 'peer', agent_id, removeControlCharacters(result), BLOCKED)
}

/** Returns what an agent says it achieved, checked by guardrails for human readers. */
export function redactOutput(svc: PluginHandle, agent_id: string, result: string): Promise<string> {
  return checkText(svc, 'output', agent_id, result, WITHHELD)
}

async function checkText(
  svc: PluginHandle,
  stage: Stage,
  agent_id: string,
  text: string,
  notice: string,
  again = false,
) {
  if (!svc.has(Guardrails)) return text
  const { action, text: clean } = await svc.use(Guardrails).check(stage, text, { agent_id, again })
  return action === 'block' ? notice : clean
}
