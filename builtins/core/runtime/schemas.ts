import { Worker } from 'node:worker_threads'
import type { Issue } from '#kernel'
import { recordInput } from '#lib/recording-context'
import type { SchemaCheck, Schemas } from './contract.ts'

type Json = Record<string, unknown>

const THREAD = new URL('./schema-thread.js', import.meta.url)
/** First time limit of a check, in milliseconds, so that quick checks do not wait for many slow ones. */
const FIRST_LIMIT_MS = 50
/** Time limit of a slow check when no new check is waiting, in milliseconds. */
const LIMIT_MS = 2_000
/** Memory limit in MiB; more than any legitimate check needs. */
const MEMORY_MIB = 128
/** Stack limit in MiB, the same as in the main thread. Following a circular schema fills the stack. */
const STACK_MIB = 1
/** Number of retries if the thread ended before it received the check. */
const TRIES = 3

/** An error in ajv's format. */
interface Fault {
  instancePath: string
  message?: string
  params: Record<string, unknown>
}
type Answer = { errors: Fault[]; left_out: string[] } | { problem: string } | { isSlow: true }

interface Question {
  schema: Json
  value: unknown
  isSlow: boolean
  tries: number
  resolve(answer: Answer): void
}

/** Thread that checks JSON Schemas from outside, so that no schema can block the event loop. */
class SchemaThread {
  #worker: Worker | undefined
  #question: Question | undefined
  readonly #fresh: Question[] = []
  readonly #slow: Question[] = []

  ask(schema: Json, value: unknown): Promise<Answer> {
    return new Promise(resolve => {
      this.#fresh.push({ schema, value, isSlow: false, tries: 0, resolve })
      this.#next()
    })
  }

  #next(): void {
    if (this.#question) return
    const question = this.#fresh.shift() ?? this.#slow.shift()
    if (!question) return void this.#worker?.unref()
    this.#question = question
    const worker = this.#up()
    worker.ref()
    const { schema, value, isSlow } = question
    worker.postMessage({ schema, value, limit_ms: isSlow ? LIMIT_MS : FIRST_LIMIT_MS })
  }

  #up(): Worker {
    if (this.#worker) return this.#worker
    const worker = new Worker(THREAD, {
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MIB, stackSizeMb: STACK_MIB },
    })
    let problem: string | undefined
    worker.on('message', (answer: Answer) => this.#checkAnswer(answer))
    worker.on('error', (error: NodeJS.ErrnoException) => {
      problem =
        error.code === 'ERR_WORKER_OUT_OF_MEMORY'
          ? `the check takes more than ${MEMORY_MIB} MiB of memory`
          : error.message
    })
    worker.on('exit', () => {
      this.#worker = undefined
      const question = this.#question
      this.#question = undefined
      // The idle thread may have ended at the moment the check was sent.
      if (question && problem === undefined && question.tries++ < TRIES) this.#fresh.unshift(question)
      else question?.resolve({ problem: problem ?? 'the thread that checks schemas exits immediately' })
      this.#next()
    })
    this.#worker = worker
    return worker
  }

  #checkAnswer(answer: Answer): void {
    const question = this.#question!
    this.#question = undefined
    if ('isSlow' in answer && !question.isSlow) this.#slow.push({ ...question, isSlow: true })
    else question.resolve(answer)
    this.#next()
  }
}

const thread = new SchemaThread()

/** Name of a check's result in recordings, like other plugin contributions. Older recordings have none. */
const TAKEN = 'json_schema: check'

export const schemas: Schemas = {
  check: (schema, value) => recordInput(TAKEN, async () => toSchemaCheck(await thread.ask(withoutName(schema), value))),
  async admit(schema) {
    // A schema that refers to itself as a whole is circular for any object.
    const answer = await thread.ask(withoutName(schema), {})
    const { unchecked } = toSchemaCheck(answer)
    if (unchecked !== undefined) throw new Error(unchecked)
    const [left] = 'left_out' in answer ? answer.left_out : []
    if (left !== undefined) throw new Error(`a part of the schema would not be checked: ${left}`)
  },
}

function withoutName({ $schema: _, ...schema }: Json): Json {
  return schema
}

function toSchemaCheck(answer: Answer): SchemaCheck {
  if ('errors' in answer) return { issues: answer.errors.map(issueOf) }
  if ('problem' in answer) return { issues: [], unchecked: answer.problem }
  return {
    issues: [],
    unchecked: `the check takes longer than ${LIMIT_MS / 1000} s; make the patterns of the schema simpler`,
  }
}

function issueOf({ instancePath, message = 'does not match the schema', params }: Fault): Issue {
  const names = instancePath.split('/').slice(1)
  const path = names.map(name => name.replaceAll('~1', '/').replaceAll('~0', '~'))
  const { additionalProperty } = params as { additionalProperty?: string }
  if (additionalProperty === undefined) return { path: path.join('.'), message }
  return { path: [...path, additionalProperty].join('.'), message: 'is not a known field' }
}
