import { ConflictError, InvalidConfigError, type Issue, type KeyMeta, type ReloadClass, type Undo, z } from '#kernel'
import { parseValue } from '#lib/yaml'
import { UnknownConfigKeyError } from './contract.ts'
import { keyHint } from './key-hint.ts'

export interface KeyValues {
  persisted: unknown
  effective: unknown
}

export interface KnownKey extends KeyValues {
  path: string
  schema: z.ZodType
  meta: KeyMeta & { reload: ReloadClass }
  owner: string
  live: unknown
}

/** Throws for invalid configuration. @throws InvalidConfigError with the path and message of each issue */
export function refuse(issues: readonly Issue[]): never {
  throw new InvalidConfigError({ issues }, { errors: issues.map(({ path, message }) => ({ path, message })) })
}
/** The keys that configuration sections added, by their dotted paths. */
export class ConfigKeys {
  readonly #keys = new Map<string, KnownKey>()

  /** Adds keys, all or none. @throws ConflictError naming both owners when a key exists already */
  add(keys: readonly KnownKey[]): Undo {
    for (const { path, owner } of keys) {
      const taken = this.#keys.get(path)
      if (taken)
        throw new ConflictError({
          message: `"${owner}" adds the key ${path}, but "${taken.owner}" already defines it.`,
        })
    }
    for (const key of keys) this.#keys.set(key.path, key)
    return () => {
      for (const { path } of keys) this.#keys.delete(path)
    }
  }

  all(): KnownKey[] {
    return [...this.#keys.values()]
  }

  get(path: string): KnownKey | undefined {
    return this.#keys.get(path)
  }

  /** Returns the key at a path, or its closest ancestor that is a key. */
  findKey(path: readonly string[]): KnownKey | undefined {
    for (let depth = path.length; depth > 0; depth--) {
      const steps = path.slice(0, depth)
      const key = this.#keys.get(steps.join('.'))
      // A single name "daemon.heartbeat" is not the key `heartbeat` of `daemon`.
      if (key && !steps.some(step => step.includes('.'))) return key
    }
    return undefined
  }

  isSection(path: readonly string[]): boolean {
    if (path.some(step => step.includes('.'))) return false
    const prefix = `${path.join('.')}.`
    return [...this.#keys.keys()].some(key => key.startsWith(prefix))
  }

  /**
   * Resolves a key as users write it to its path and the schema of its value: `daemon.heartbeat`, an entry of a
   * mapping, or a field of such an entry.
   * @throws UnknownConfigKeyError
   */
  find(key: string): { path: string[]; schema: z.ZodType } {
    const found = this.all().find(({ path, schema }) => {
      return path === key || (key.startsWith(`${path}.`) && isMapping(schema))
    })
    if (!found) throw new UnknownConfigKeyError({ key, hint: keyHint(key, [...this.#keys.keys()]) })
    const { path, schema } = resolveEntry(found.schema, key.slice(found.path.length + 1))
    return { path: [...found.path.split('.'), ...path], schema }
  }

  /** Returns the message for an unknown path, with the closest match. */
  unknownKeyMessage(path: readonly string[]): string {
    const hint = path.some(step => step.includes('.')) ? '' : keyHint(path.join('.'), [...this.#keys.keys()])
    return `is not a known key${hint && `; ${hint}`}`
  }
}

/** Returns the `.meta(…)` of a key; by default a change requires a restart. */
export function metaOf(schema: z.ZodType): KnownKey['meta'] {
  const { reload, env, secret, protects } = (schema.meta() ?? {}) as KeyMeta
  return {
    reload: reload ?? 'restart_required',
    ...(env ? { env } : {}),
    ...(secret ? { secret } : {}),
    ...(protects ? { protects } : {}),
  }
}

const OPTIONAL = [z.ZodDefault, z.ZodPrefault, z.ZodOptional, z.ZodNullable]

/** Unwraps optional, nullable and default schemas. */
function typeOf(schema: z.ZodType): z.ZodType {
  let type = schema
  while (OPTIONAL.some(kind => type instanceof kind)) type = (type as z.ZodOptional<z.ZodType>).unwrap()
  return type
}

/** Returns whether a key holds a mapping, whose entries can be set one by one. */
export function isMapping(schema: z.ZodType): boolean {
  const type = typeOf(schema)
  return type instanceof z.ZodRecord || type instanceof z.ZodObject
}

/**
 * Resolves a path below a mapping. Entry names may contain dots (`gpt-4.1`), unless the entries are mappings
 * themselves.
 */
function resolveEntry(schema: z.ZodType, rest: string): { path: string[]; schema: z.ZodType } {
  if (rest === '') return { path: [], schema }
  const [name = '', ...further] = rest.split('.')
  const mapping = typeOf(schema) as z.ZodRecord | z.ZodObject
  const value = mapping instanceof z.ZodRecord ? mapping.valueType : (mapping.shape[name] ?? z.unknown())
  if (!isMapping(value as z.ZodType)) return { path: [rest], schema: value as z.ZodType }
  const found = resolveEntry(value as z.ZodType, further.join('.'))
  return { path: [name, ...found.path], schema: found.schema }
}

/**
 * Parses a string from the environment or a command by its schema; returns it unchanged if it does not fit, so that the
 * schema rejects it.
 */
export function fromText(text: string, schema: z.ZodType): unknown {
  const type = typeOf(schema)
  const plain = text.trim()
  if (plain === 'null' && schema.safeParse(null).success) return null
  if (type instanceof z.ZodNumber) return plain === '' || Number.isNaN(Number(plain)) ? text : Number(plain)
  if (type instanceof z.ZodBoolean) {
    if (/^(1|true|yes|on)$/i.test(plain)) return true
    return /^(0|false|no|off)$/i.test(plain) ? false : text
  }
  const asYaml =
    type instanceof z.ZodUnknown || isMapping(type) || (type instanceof z.ZodArray && plain.startsWith('['))
  if (asYaml) return parseValue(plain) ?? text
  if (!(type instanceof z.ZodArray)) return text
  return plain === '' ? [] : plain.split(',').map(part => part.trim())
}
