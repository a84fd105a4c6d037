import { createContext, Script } from 'node:vm'
import { parentPort } from 'node:worker_threads'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

// Worker thread that validates values against JSON Schemas from outside, for `schemas.ts`, one request at a time. Plain
// JavaScript, so that it runs from the sources and in the package.

/** Time without a request after which the thread ends, to free its memory, in milliseconds. */
const IDLE_MS = 30_000
/** Maximum number of cached schemas. */
const MAX_CACHED = 32
const TOO_LONG = 'ERR_SCRIPT_EXECUTION_TIMEOUT'

const context = createContext({ work: undefined })
const script = new Script('work()')
const standard = new Ajv2020({ strict: false, logger: false })
/** Compiled schemas by their JSON, most recently used last. */
const compiled = new Map()
let end

// Compiles the metaschema now, so that its time does not count towards the limit of the first schema.
standard.validateSchema({})
parentPort.on('message', ({ schema, value, limit_ms }) => {
  clearTimeout(end)
  parentPort.postMessage(answerTo(schema, value, limit_ms))
  end = setTimeout(() => process.exit(), IDLE_MS)
})

/**
 * Validates a value. Returns `{ errors, left_out }`, where `left_out` lists what ajv ignores in the schema; `{ problem }` for
 * an invalid schema; or `{ isSlow }` after the time limit.
 */
function answerTo(schema, value, limit_ms) {
  context.work = () => {
    const { validate, left_out } = validatorOf(schema)
    return { errors: validate(value) ? [] : validate.errors, left_out }
  }
  try {
    const { errors, left_out } = script.runInContext(context, { timeout: limit_ms })
    return { errors: errors.map(({ instancePath, message, params }) => ({ instancePath, message, params })), left_out }
  } catch (error) {
    if (error.code === TOO_LONG) return { isSlow: true }
    // A schema with an endless cycle of references overflows the stack.
    const isCircle = error instanceof RangeError
    return { problem: isCircle ? 'a $ref in it leads back to itself without end' : String(error.message ?? error) }
  } finally {
    context.work = undefined
  }
}

function validatorOf(schema) {
  const key = JSON.stringify(schema)
  const known = compiled.get(key) ?? compile(schema)
  compiled.delete(key)
  compiled.set(key, known)
  if (compiled.size > MAX_CACHED) compiled.delete(compiled.keys().next().value)
  return known
}

/** Uses a new instance for each schema, so that names in one do not apply to another. */
function compile(schema) {
  if (!standard.validateSchema(schema)) throw new Error(standard.errorsText(undefined, { dataVar: '' }))
  const left_out = []
  const logger = { log() {}, warn: what => left_out.push(what), error() {} }
  const ajv = new Ajv2020({ strict: false, allErrors: true, meta: false, validateSchema: false, logger })
  formats.default(ajv)
  return { validate: ajv.compile(schema), left_out }
}
