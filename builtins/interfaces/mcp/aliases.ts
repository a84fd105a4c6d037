import { type Operation, operation, z } from '#kernel'

interface Alias {
  name: string
  operation: string
  /** Maps the tool's field names to those of the operation's input; by default all fields keep their names. */
  fields?: Readonly<Record<string, string>>
  /** Default values that differ from the operation's. */
  defaults?: Readonly<Record<string, unknown>>
}

/** Tool names that long-standing clients use for some operations. Those about processes come from the command line. */
const ALIASES: readonly Alias[] = [
  { name: 'svc.status', operation: 'agents.status' },
  { name: 'svc.spawn', operation: 'agents.spawn', fields: { profile: 'preset', model: 'model' } },
  { name: 'svc.kill', operation: 'agents.delete', fields: { agent: 'id' } },
  { name: 'svc.nudge', operation: 'agents.nudge', fields: { agent: 'id', message: 'message' } },
  { name: 'svc.logs', operation: 'events.list', fields: { agent: 'id', limit: 'limit' }, defaults: { limit: 20 } },
  { name: 'svc.models', operation: 'models.list' },
]

const made = new WeakMap<Operation, Operation>()

/** Returns the aliases of operations that exist. */
export function aliases(find: (name: string) => Operation | undefined): Operation[] {
  return ALIASES.flatMap(alias => {
    const original = find(alias.operation)
    if (!original) return []
    const known = made.get(original) ?? aliasOf(original, alias)
    made.set(original, known)
    return [known]
  })
}

function aliasOf(original: Operation, { name, fields, defaults = {} }: Alias): Operation {
  const { summary, description, output, http, reach, run, count } = original
  const shape = original.input.shape as Record<string, z.ZodType>
  const names = Object.entries(fields ?? Object.fromEntries(Object.keys(shape).map(field => [field, field])))
  const input = names.map(([field, of]) => {
    const schema = shape[of]!
    return [field, of in defaults ? schema.default(defaults[of]) : schema]
  })
  const inputOf = (given: Record<string, unknown>) => {
    const named = names.flatMap(([field, of]) => (given[field] === undefined ? [] : [[of, given[field]]]))
    return original.input.parse(Object.fromEntries(named)) as never
  }
  return operation({
    name,
    summary,
    output,
    ...(description === undefined ? {} : { description }),
    ...(http === undefined ? {} : { http }),
    ...(reach === undefined ? {} : { reach }),
    input: z.strictObject(Object.fromEntries(input)),
    run: (given, call) => run(inputOf(given), call),
    ...(count ? { count: (given, call) => count(inputOf(given), call) } : {}),
  })
}
