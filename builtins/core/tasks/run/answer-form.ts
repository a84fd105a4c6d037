import type { Schemas } from '#core/runtime/contract'
import { errorMessage, InvalidInputError, type Issue, issuesOf, z } from '#kernel'
import { StructuredParseError } from '../contract.ts'
import { objectsIn } from './objects-in.ts'

type Json = Record<string, unknown>

/** Name of the schema in model requests. */
const NAME = 'answer'
const RIGHT = 'a schema for answers must be a z.object; put any other type into a field of an object'

/**
 * Refuses a schema that cannot be checked completely.
 * @throws InvalidInputError
 */
export async function admitSchema(schemas: Schemas, schema: Json): Promise<void> {
  // The original zod schema checks answers completely.
  if (originals.has(schema)) return
  try {
    await schemas.admit(schema)
  } catch (error) {
    const issue = {
      path: 'response_schema',
      message: `cannot be used as the schema of an answer: ${errorMessage(error)}`,
    }
    throw new InvalidInputError({ what: 'The request', issues: [issue] }, { errors: [issue] })
  }
}

/**
 * Converts a zod schema to a JSON Schema of its input, before transforms, for the model.
 * @throws an Error that states what is wrong with the schema
 */
export function jsonSchemaOf(schema: z.ZodType): Json {
  if (!(schema instanceof z.ZodType)) throw new Error(RIGHT)
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override({ jsonSchema }) {
      // Properties outside of the schema are never read, and servers enforce a schema only when it forbids them.
      if (jsonSchema.type === 'object') jsonSchema.additionalProperties ??= false
    },
  }) as Json
  if (json.type !== 'object') throw new Error(RIGHT)
  return json
}

const originals = new WeakMap<object, z.ZodType>()

/**
 * Converts a zod schema and remembers it: tasks that start in this process are then checked by the zod schema itself,
 * with its refinements.
 */
export function schemaWithOriginal(schema: z.ZodType): Json {
  const json = jsonSchemaOf(schema)
  originals.set(json, schema)
  return json
}

/** Returns the zod schema that `schemaWithOriginal` converted to this JSON Schema. */
export function originalOf(schema: object): z.ZodType | undefined {
  return originals.get(schema)
}

/** Parses one structured answer, and asks the model for corrections up to a limit. */
export class AnswerForm {
  /** Schema for the model request. */
  readonly schema: { name: string; schema: Json }
  readonly #original: z.ZodType | undefined
  readonly #schemas: Schemas
  readonly #repairs: number
  #tries: number
  #read: { value: Json; output: unknown } | { error: StructuredParseError } | undefined

  /**
   * @param schemas validates answers
   * @param repairs maximum number of corrections
   * @param original zod schema to check with instead of the JSON Schema
   * @param tries number of answers already reviewed by another process
   */
  constructor(schemas: Schemas, schema: Json, repairs: number, original?: z.ZodType, tries = 0) {
    this.#schemas = schemas
    this.schema = { name: NAME, schema }
    this.#original = original
    this.#repairs = repairs
    this.#tries = tries
  }

  /** The last answer as an object; null if it did not match the schema. */
  get value(): Json | null {
    return this.#read && 'value' in this.#read ? this.#read.value : null
  }

  /** The last answer after the transforms of a zod schema. */
  get output(): unknown {
    return this.#read && 'output' in this.#read ? this.#read.output : null
  }

  /** Why the last answer did not match the schema. */
  get error(): StructuredParseError | undefined {
    return this.#read && 'error' in this.#read ? this.#read.error : undefined
  }

  /** Discards the review, because the answer was not the last one. */
  forget(): void {
    this.#read = undefined
  }

  /**
   * Reviews a text that may be the final answer.
   * @param mendable false if another attempt would give the same result
   * @returns the correction for the model; undefined if the answer matches or the limit is reached
   */
  async review(text: string, mendable = true): Promise<string | undefined> {
    this.#read = await this.#look(text)
    const { error } = this
    if (!error || !mendable || this.#tries++ >= this.#repairs) return undefined
    return `${error.message} Answer again with one JSON object that matches this JSON Schema, and no text around it; if you cannot without inventing values, say again what is missing: ${JSON.stringify(this.schema.schema)}`
  }

  async #look(text: string): Promise<{ value: Json; output: unknown } | { error: StructuredParseError }> {
    let issues: Issue[] = [{ path: '', message: 'it contains no JSON object' }]
    // Uses the last of several objects: models write a draft first and then repeat it.
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
      return { issues: [{ path: '', message: `the answer cannot be checked with the schema: ${unchecked}` }] }
    }
    return issues.length === 0 ? { output: value } : { issues }
  }
}
