import { createHash } from 'node:crypto'
import { Scenario, type ToolUse } from '#lab/benchmark/contract'
import { WORK_GOALS } from '#lab/benchmark/goals/index'
import { type Answer, type ModelServerRequest, text, toolCall } from '../../../support/index.ts'
import { call, hasFailed, type Ledger, mistakes, type Seen, type Turns } from './mistakes.ts'

/** Behaviours of models: for each, the rates of its mistakes per step. */
export const BEHAVIOURS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  careful: {},
  hasty: { wrong_path: 0.3, near_miss: 0.6, absolute_path: 0.15, two_at_once: 0.15 },
  foreign: { foreign_name: 0.3, foreign_arguments: 0.3, shell_line: 0.6 },
  broken: { broken_json: 0.35, empty: 0.05, rambles: 0.1 },
  idle: { text_instead: 0.15, claims_in_text: 0.05, claims_early: 0.1, sorry: 0.08 },
  verbose: { floods: 0.3, repeats: 0.25, rambles: 0.05 },
  quitter: { gives_up: 0.1 },
}

/** A step that should have succeeded but failed. */
export interface Stumble {
  model: string
  goal: string
  step: ToolUse
  error: string
}

const GOALS = WORK_GOALS.map(each => Scenario.parse(each))
/** Maximum attempts at a step that fails without a mistake of the model. */
const TRIES = 3

/**
 * Plays models with these behaviours. Each knows the solution of each work goal, makes seeded mistakes on the way and
 * reacts to the answers.
 */
export class FallibleModels {
  readonly ledger: Ledger = new Map()
  readonly stumbles: Stumble[] = []
  readonly #seed: number
  readonly #runs = new Map<string, Turns>()

  constructor(seed: number) {
    this.#seed = seed
  }

  answer({ body }: ModelServerRequest): Answer {
    const { messages, model } = body
    const goal = GOALS.find(({ asks }) =>
      messages.some(({ role, content }) => role === 'user' && content?.includes(asks[0]!)),
    )
    if (!goal) return text('{"goal": null, "reasoning": "There is nothing to do."}')
    const key = `${model} ${goal.name}`
    const last = messages.findLastIndex(({ role }) => role === 'assistant')
    const run = last < 0 ? undefined : this.#runs.get(key)
    const fresh = run ?? this.#play(model, goal)
    this.#runs.set(key, fresh)
    const { value, done } = run ? fresh.next(seenAfter(messages.slice(last))) : fresh.next()
    return done ? text('There is nothing more to do.') : (value as Answer)
  }

  *#play(model: string, { name, solution, ends }: Scenario): Turns {
    const random = randomOf(`${this.#seed} ${model} ${name}`)
    const rates = Object.entries(BEHAVIOURS[model] ?? {})
    const makes = mistakes(this.ledger)
    const steps = solution!()
    for (const [at, step] of steps.entries()) {
      const isLast = at === steps.length - 1
      let done = false
      for (const [kind, rate] of rates) {
        if (done || random() >= rate) continue
        if (kind === 'gives_up' && ends === 'completed') {
          yield toolCall('finish_goal', { reached: false, summary: 'I could not find out how to do this.' })
          return true
        }
        // An empty first answer leaves no trace, so the conversation would start again.
        if (kind === 'empty' && at === 0) continue
        // Once all work is done, an early claim would be true and accepted.
        if (kind.startsWith('claims') && at > steps.length / 3) continue
        if (isLast && (kind.startsWith('claims') || kind === 'sorry' || kind === 'two_at_once')) continue
        const mistake = makes[kind]?.(step, random)
        if (mistake) done = yield* mistake()
      }
      for (let tries = 0; !done && tries < TRIES; tries++) {
        const seen = yield call(step)
        done = !hasFailed(seen)
        if (!done)
          this.stumbles.push({ model, goal: name, step, error: seen.results.map(each => each.content).join('\n') })
        // The file may have changed since it was read.
        if (!done && typeof step.arguments.path === 'string' && tries < TRIES - 1)
          yield toolCall('file_read', { path: step.arguments.path })
      }
      if (done || isLast) continue
      yield toolCall('finish_goal', { reached: false, summary: 'A step failed again and again.' })
      return true
    }
    return true
  }
}

/** Returns what the model sees. @param messages from the last answer on */
function seenAfter([asked, ...messages]: ModelServerRequest['body']['messages']): Seen {
  const calls = (asked?.tool_calls ?? []) as { id: string; function: { name: string } }[]
  const results = messages.flatMap(({ role, content, tool_call_id }) => {
    const name = calls.find(({ id }) => id === tool_call_id)?.function.name ?? ''
    return role === 'tool' ? [{ name, content: content ?? '', failed: /^Error: /.test(content ?? '') }] : []
  })
  const said = messages.flatMap(({ role, content }) => (role === 'user' ? [content ?? ''] : [])).join('\n')
  return { results, said }
}

/** Returns a generator of numbers in [0, 1), seeded by a string. */
function randomOf(text: string): () => number {
  let n = 0
  return () => createHash('sha256').update(`${text} ${n++}`).digest().readUInt32BE() / 2 ** 32
}
