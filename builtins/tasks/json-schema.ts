import { createContext, Script } from 'node:vm'
import type { Ajv2020, ErrorObject, ValidateFunction } from 'ajv/dist/2020.js'
import { type Issue, sentenceOf } from '#kernel'

type Json = Record<string, unknown>

/** What is wrong with a value; empty when it fits. */
export type Check = (value: unknown) => Issue[]

/** Milliseconds that a check may take: an expression that anybody may send could go on for ever on what a model says. */
const LIMIT_MS = 500
const TOO_LONG = 'ERR_SCRIPT_EXECUTION_TIMEOUT'

const room = createContext({ check: undefined as (() => unknown) | undefined })
const script = new Script('check()')

/**
 * The check of values by a JSON Schema (2020-12), of all that it says.
 * @param leavesOut told what of the schema would not be checked, such as a format that nobody here knows
 * @throws an Error that says what is wrong with the schema
 */
export async function checkOf(schema: Json, leavesOut: (what: string) => void = () => {}): Promise<Check> {
  const { $schema: _, ...said } = schema
  const validate = await compiled(said, leavesOut)
  return value => {
    try {
      return within(() => validate(value)) ? [] : (validate.errors ?? []).map(issueOf)
    } catch (error) {
      const isSlow = (error as { code?: unknown }).code === TOO_LONG
      const why = isSlow ? `it takes longer than ${LIMIT_MS / 1000} s; make its patterns simpler` : whyOf(error)
      return [{ path: '', message: `its schema cannot be checked: ${why}` }]
    }
  }
}

/** Knows what a schema itself may be. */
let standard: Ajv2020 | undefined

/** Of an instance of its own: what is named in one schema is nobody else's. */
async function compiled(schema: Json, leavesOut: (what: string) => void): Promise<ValidateFunction> {
  const [{ Ajv2020 }, { default: formats }] = await Promise.all([import('ajv/dist/2020.js'), import('ajv-formats')])
  standard ??= new Ajv2020({ strict: false, logger: false })
  if (!standard.validateSchema(schema)) throw new Error(standard.errorsText(undefined, { dataVar: '' }))
  const logger = { log() {}, warn: leavesOut, error() {} }
  const ajv = new Ajv2020({ strict: false, allErrors: true, meta: false, validateSchema: false, logger })
  formats.default(ajv)
  try {
    const validate = ajv.compile(schema)
    // One that leads back to itself as a whole does so with any object.
    within(() => validate({}))
    return validate
  } catch (error) {
    throw new Error(whyOf(error), { cause: error })
  }
}

/** What is wrong with a schema: one that refers to itself without end is followed until the stack is full. */
function whyOf(error: unknown): string {
  return error instanceof RangeError ? 'a $ref in it leads back to itself without end' : sentenceOf(error)
}

/** @throws an Error with the code TOO_LONG once it took as long as it may */
function within<T>(check: () => T): T {
  room.check = check
  try {
    return script.runInContext(room, { timeout: LIMIT_MS }) as T
  } finally {
    room.check = undefined
  }
}

function issueOf({ instancePath, message = 'does not fit', params }: ErrorObject): Issue {
  const names = instancePath.split('/').slice(1)
  const path = names.map(name => name.replaceAll('~1', '/').replaceAll('~0', '~'))
  const { additionalProperty } = params as { additionalProperty?: string }
  if (additionalProperty === undefined) return { path: path.join('.'), message }
  return { path: [...path, additionalProperty].join('.'), message: 'is not a known field' }
}
