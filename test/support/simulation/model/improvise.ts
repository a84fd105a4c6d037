import type { Dice } from '../dice.ts'

type Schema = Readonly<Record<string, unknown>>

const WORDS = ['blue', 'seven', 'north', 'quiet', 'draft', 'again', 'paper', 'stone', 'early', 'open']
const FILES = ['notes.txt', 'plan.md', 'data/list.csv', 'draft.txt', '../outside.txt']

/**
 * Returns arguments that match a JSON Schema, most of the time.
 * @param names ids of existing agents and goals
 */
export function argumentsFor(schema: Schema, dice: Dice, names: readonly string[]): unknown {
  return valueFor(schema, '', dice, names, 0)
}

function valueFor(schema: Schema, name: string, dice: Dice, names: readonly string[], depth: number): unknown {
  if ('const' in schema) return schema.const
  if (Array.isArray(schema.enum)) return dice.pick(schema.enum)
  const choices = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined
  if (choices?.length) return valueFor(dice.pick(choices), name, dice, names, depth)
  switch (Array.isArray(schema.type) ? schema.type[0] : schema.type) {
    case 'object':
      return objectFor(schema, dice, names, depth)
    case 'array': {
      const length = dice.int(Number(schema.minItems ?? 0), Math.max(Number(schema.minItems ?? 0), 2))
      return Array.from({ length }, () => valueFor((schema.items as Schema) ?? {}, name, dice, names, depth + 1))
    }
    case 'integer':
      return dice.int(Math.max(Number(schema.minimum ?? 0), -1000), Math.min(Number(schema.maximum ?? 20), 1000))
    case 'number':
      return dice.int(Math.max(Number(schema.minimum ?? 0), 0), Math.min(Number(schema.maximum ?? 20), 100))
    case 'boolean':
      return dice.chance(0.5)
    case 'null':
      return null
    default:
      return textFor(name, dice, names)
  }
}

function objectFor(schema: Schema, dice: Dice, names: readonly string[], depth: number): object {
  const required = new Set((schema.required as string[] | undefined) ?? [])
  const made: Record<string, unknown> = {}
  for (const [key, value] of Object.entries((schema.properties as Record<string, Schema> | undefined) ?? {})) {
    if (!required.has(key) && (depth > 2 || dice.chance(0.6))) continue
    made[key] = valueFor(value, key, dice, names, depth + 1)
  }
  return made
}

function textFor(name: string, dice: Dice, names: readonly string[]): string {
  if (/path|file|folder|directory/.test(name)) return dice.pick(FILES)
  if (/agent|(^|_)to$|goal_id|peer|recipient/.test(name) && names.length > 0) return dice.pick(names)
  if (/url|link/.test(name)) return 'https://example.org/page'
  return `${dice.pick(WORDS)} ${dice.pick(WORDS)} ${dice.int(1, 99)}`
}
