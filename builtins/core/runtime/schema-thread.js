import { createContext, Script } from 'node:vm'
import { parentPort } from 'node:worker_threads'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

// The thread that checks values by JSON Schemas of others: `schemas.ts` asks, one question at a time. Its code needs no loader,
// so that it runs from the sources as well as in the package.

/** Milliseconds without a question after which the thread ends and gives back its memory. */
const IDLE_MS = 30_000
/** Compiled schemas that are kept. */
const KEPT = 32
const TOO_LONG = 'ERR_SCRIPT_EXECUTION_TIMEOUT'

const context = createContext({ work: undefined })
const script = new Script('work()')
const standard = new Ajv2020({ strict: false, logger: false })
/** By the text of their schemas, the latest last. */
const compiled = new Map()
let end

// The time that compiling the standard itself takes counts against no schema.
standard.validateSchema({})
parentPort.on('message', ({ schema, value, limit_ms }) => {
  clearTimeout(end)
  parentPort.postMessage(answerTo(schema, value, limit_ms))
  end = setTimeout(() => process.exit(), IDLE_MS)
})

/** @returns `{ errors, left_out }`, of what ajv found and what of the schema it does not check; or `{ problem }`, or `{ isSlow }` */
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
    // A schema that refers to itself without end is followed until the stack is full.
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
  if (compiled.size > KEPT) compiled.delete(compiled.keys().next().value)
  return known
}

/** By an instance of its own: what is named in one schema is no other's. */
function compile(schema) {
  if (!standard.validateSchema(schema)) throw new Error(standard.errorsText(undefined, { dataVar: '' }))
  const left_out = []
  const logger = { log() {}, warn: what => left_out.push(what), error() {} }
  const ajv = new Ajv2020({ strict: false, allErrors: true, meta: false, validateSchema: false, logger })
  formats.default(ajv)
  return { validate: ajv.compile(schema), left_out }
}
