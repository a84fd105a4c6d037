import type { Schemas } from '#core/runtime/contract'
import { errorMessage, InvalidInputError, type Issue, issuesOf, z } from '#kernel'
import { StructuredParseError } from '../contract.ts'
import { objectsIn } from './objects-in.ts'

type Json = Record<string, unknown>

/** What a model's server calls the schema. */
const NAME = 'answer'
const RIGHT = 'a schema for answers must be a z.object; put anything else into a field'

/** Refuses a schema by which answers could not be checked, or only by a part of it. @throws InvalidInputError */
export async function admitSchema(schemas: Schemas, schema: Json): Promise<void> {
  // By its zod schema it is checked whole.
  if (originals.has(schema)) return
  try {
    await schemas.admit(schema)
  } catch (error) {
    const issue = { path: 'response_schema', message: `is no schema for an answer: ${errorMessage(error)}` }
    throw new InvalidInputError({ what: 'The request', issues: [issue] }, { errors: [issue] })
  }
}

/**
 * A zod schema as the JSON Schema that a model is given: what it takes, before its transforms.
 * @throws an Error that says what is wrong with the schema
 */
export function jsonSchemaOf(schema: z.ZodType): Json {
  if (!(schema instanceof z.ZodType)) throw new Error(RIGHT)
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    ...{ io: 'input', unrepresentable: 'any' },
    override({ jsonSchema }) {
      // Properties outside of the schema are never read, and servers enforce a schema only when it forbids them.
      if (jsonSchema.type === 'object') jsonSchema.additionalProperties ??= false
    },
  }) as Json
  if (json.type !== 'object') throw new Error(RIGHT)
  return json
}

const originals = new WeakMap<object, z.ZodType>()

/** The same, remembered: a task that begins in this process is then checked by the zod schema itself, with its refinements. */
export function schemaWithOriginal(schema: z.ZodType): Json {
  const json = jsonSchemaOf(schema)
  originals.set(json, schema)
  return json
}

/** The zod schema of which `structured` made this. */
export function originalOf(schema: object): z.ZodType | undefined {
  return originals.get(schema)
}

/** The form of one answer: parses what the model says, and asks it for corrections, up to a limit. */
export class AnswerForm {
  /** As the model is given it. */
  readonly schema: { name: string; schema: Json }
  readonly #original: z.ZodType | undefined
  readonly #schemas: Schemas
  readonly #repairs: number
  #tries: number
  #read: { value: Json; output: unknown } | { error: StructuredParseError } | undefined

  /**
   * @param schemas checks what the model says
   * @param repairs how often the model may mend its answer
   * @param original in place of what the JSON Schema says: a zod schema with more to say
   * @param tries how many answers were looked at before, by another process
   */
  constructor(schemas: Schemas, schema: Json, repairs: number, original?: z.ZodType, tries = 0) {
    this.#schemas = schemas
    this.schema = { name: NAME, schema }
    this.#original = original
    this.#repairs = repairs
    this.#tries = tries
  }

  /** The last answer as an object that fits; null when it did not. */
  get value(): Json | null {
    return this.#read && 'value' in this.#read ? this.#read.value : null
  }

  /** The same after the transforms of a zod schema. */
  get output(): unknown {
    return this.#read && 'output' in this.#read ? this.#read.output : null
  }

  /** Why the last answer did not fit. */
  get error(): StructuredParseError | undefined {
    return this.#read && 'error' in this.#read ? this.#read.error : undefined
  }

  /** The work goes on: what was looked at was not the last answer. */
  forget(): void {
    this.#read = undefined
  }

  /**
   * Reviews a text that would be the answer.
   * @param mendable false when asking again would bring the same
   * @returns the correction for the model; undefined when it fits, or the limit is reached
   */
  async review(text: string, mendable = true): Promise<string | undefined> {
    this.#read = await this.#look(text)
    const { error } = this
    if (!error || !mendable || this.#tries++ >= this.#repairs) return undefined
    return `${error.message} Answer again with one JSON object that fits this JSON Schema, and nothing around it: ${JSON.stringify(this.schema.schema)}`
  }

  async #look(text: string): Promise<{ value: Json; output: unknown } | { error: StructuredParseError }> {
    let issues: Issue[] = [{ path: '', message: 'there is no JSON object in it' }]
    // Of several the last: models draft, and then say it again.
    for (const value of objectsIn(text).reverse()) {
      const fit = await this.#fit(value)
      if ('output' in fit) return { value, output: fit.output }
      issues = fit.issues
    }
    return { error: StructuredParseError.of(text, issues, '') }
  }

  async #fit(value: Json): Promise<{ output: unknown } | { issues: Issue[] }> {
    if (this.#original) {
      const parsed = await this.#original.safeParseAsync(value)
      return parsed.success ? { output: parsed.data } : { issues: issuesOf(parsed.error) }
    }
    const { issues, unchecked } = await this.#schemas.check(this.schema.schema, value)
    if (unchecked !== undefined) {
      return { issues: [{ path: '', message: `its schema cannot be checked: ${unchecked}` }] }
    }
    return issues.length === 0 ? { output: value } : { issues }
  }
}
