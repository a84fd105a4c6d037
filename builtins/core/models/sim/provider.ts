import type { Ports } from '#kernel'
import { beginningWithin, textTokens } from '#lib/text-tokens'
import { inputTokens } from '../call/spend.ts'
import { ModelError, type ModelEvent, type ModelProvider, type ModelRequest } from '../contract.ts'
import { argumentsFor } from './arguments.ts'
import { chooseGoal } from './goals.ts'
import { chooseOption } from './options.ts'
import { readScene, type Scene } from './scene.ts'
import type { Step } from './step.ts'
import { nextStep } from './steps.ts'
import { summaryOf } from './summary.ts'
import { verdictOn } from './verdict.ts'

const MODEL = 'rules-1'
const CHARS_PER_PIECE = 24

/**
 * Creates the built-in default model: seeded rules that use only the request. Like any other provider it streams,
 * counts tokens and calls tools. It states that it is simulated.
 * @param settings `sim_delay`: seconds that an answer takes
 */
export function simulate(
  { random, clock, ids }: Pick<Ports, 'random' | 'clock' | 'ids'>,
  settings: { readonly sim_delay: number },
): ModelProvider {
  return {
    name: 'sim',
    free: true,
    free_because: 'simulated, not an AI model',
    simulated: true,
    structured: true,
    notice: 'simulated, not an AI model',
    // Its text quotes tool results, which may look like a call.
    tool_calls: 'native',
    availability: async () => ({ available: true, reason: null }),
    defaultModel: async () => MODEL,
    async *stream(request, signal): AsyncGenerator<ModelEvent> {
      if (request.model !== MODEL) {
        const problem = `there is no such simulated model; the only one is sim:${MODEL}`
        throw new ModelError({ model: `sim:${request.model}`, problem }, { transient: false, billed: false })
      }
      const { agent_id, cycle_num, kind } = request.purpose
      const key = [agent_id ?? '', cycle_num, kind, request.messages.length]
      const scene = readScene(request, question => random.number('sim', ...key, question))
      const { say, call } = structureStep(respond(scene), scene, request)
      const text = beginningWithin(say, request.max_tokens)
      const pieces = piecesOf(text)
      for (const text of pieces) {
        if (settings.sim_delay > 0) await clock.sleep((settings.sim_delay * 1000) / pieces.length, signal)
        signal.throwIfAborted()
        yield { type: 'text', text }
      }
      const args = call && JSON.stringify(call.args)
      if (call && args) yield { type: 'tool_call', id: ids.make('tool', 12), name: call.name, arguments: args }
      const output_tokens = Math.max(1, textTokens(text) + textTokens(args ?? ''))
      yield { type: 'usage', usage: { input_tokens: inputTokens(request), output_tokens } }
      yield { type: 'done', finish_reason: text.length < say.length ? 'length' : call ? 'tool_calls' : 'stop' }
    },
  }
}

function respond(scene: Scene): Step {
  if (scene.kind === 'goal_generation') return { say: JSON.stringify(chooseGoal(scene)) }
  if (scene.kind === 'summary') return { say: summaryOf(scene) }
  if (scene.kind === 'other') return { say: chooseOption(scene) }
  return nextStep(scene)
}

/** For an answer with a schema, returns an object of it, filled from words of the request and its clues, if any. */
function structureStep(step: Step, scene: Scene, { response_schema }: ModelRequest): Step {
  if (step.call || !response_schema) return step
  const { schema } = response_schema
  return {
    say: JSON.stringify({ ...argumentsFor({ parameters: schema }, scene.objective), ...verdictOn(schema, scene) }),
  }
}

/** Text in pieces of a few words each, as a model streams it. */
function piecesOf(text: string): string[] {
  const pieces: string[] = []
  let piece = ''
  for (const word of text.match(/\s*\S+|\s+$/g) ?? []) {
    piece += word
    if (piece.length < CHARS_PER_PIECE) continue
    pieces.push(piece)
    piece = ''
  }
  return piece ? [...pieces, piece] : pieces
}
