import { ModelError, type ModelEvent, type ModelProvider, type ModelRequest } from '#core/models/contract'
import type { Clock } from '#kernel'
import type { Dice } from '../dice.ts'
import type { FaultInjector } from '../fault-injector.ts'
import { argumentsFor } from './improvise.ts'

/** Parts that decide what a model says. */
export interface SayingParts {
  dice: Dice
  injector: FaultInjector
  /** Returns the names that arguments may contain. */
  names(): readonly string[]
  /** Tools that, together with those of the simulation, are called as often as all others. */
  favoured: readonly string[]
}

export interface ModelParts extends SayingParts {
  clock: Clock
  /** Called with every model call. */
  onAsked(request: ModelRequest): void
  /** Called with the tokens that the provider will bill. */
  onBilled(tokens: number): void
}

const THINGS = ['stones', 'rivers', 'letters', 'lamps', 'bridges', 'gardens', 'clocks', 'harbours', 'songs', 'maps']
const ACTION_EVENTS = [
  'Count',
  'Sketch',
  'Describe',
  'Compare',
  'Mend',
  'Arrange',
  'Measure',
  'Rename',
  'Collect',
  'Weigh',
]
const PLACES = ['valley', 'attic', 'market', 'archive', 'shore', 'workshop', 'tower', 'meadow', 'cellar', 'station']

/** Returns a model whose answers are random: goals, steps, ends, and now and then what no model should say. */
export function scriptedModel(parts: ModelParts): ModelProvider {
  const { clock, dice, injector } = parts
  return {
    name: 'scripted',
    notice: 'scripted, not an AI model',
    availability: async () => ({ available: true, reason: null }),
    defaultModel: async () => 'dice',
    async *stream(request, signal) {
      parts.onAsked(request)
      await patience(clock, dice.int(5, 900), signal)
      refuse(parts, request)
      const stalls = injector.injects('model_stalls', 0.01)
      const breaks = injector.injects('model_breaks_off', 0.02)
      const events = answer(parts, request)
      for (const [n, event] of events.entries()) {
        if (breaks && n === events.length - 1) return
        if (event.type === 'usage') parts.onBilled(event.usage.input_tokens + event.usage.output_tokens)
        yield event
        if (stalls) await patience(clock, 1e9, signal)
        else if (n === 0 && dice.chance(0.3)) await patience(clock, dice.int(1, 200), signal)
      }
    },
  }
}

async function patience(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  await clock.sleep(ms, signal)
  signal.throwIfAborted()
}

function refuse({ injector, dice }: ModelParts, { model }: ModelRequest): void {
  if (!injector.is('model_down') && !injector.injects('model_refuses', 0.03)) return
  const [problem, kind, billed] = dice.pick([
    ['it has too much to do (429)', 'rate_limited', false],
    ['it failed (500)', 'server_error', true],
    ['no one answers', 'unreachable', false],
  ] as const)
  const options = kind === 'rate_limited' && dice.chance(0.5) ? { retryAfter: dice.int(1, 4) } : {}
  throw Object.assign(new ModelError({ model, problem }, options), { kind, billed })
}

/** Returns an answer with its usage and how it ends. */
function answer(parts: ModelParts, request: ModelRequest): ModelEvent[] {
  const { injector, dice } = parts
  const said = randomAnswer(parts, request)
  const calls = said.filter(({ type }) => type === 'tool_call').length
  const finish_reason = injector.injects('model_cut_short', 0.01) ? 'length' : calls > 0 ? 'tool_calls' : 'stop'
  // A lower bound: a token has about four characters.
  const chars = request.messages.reduce((sum, { content }) => sum + content.length, 0)
  const usage = { input_tokens: Math.ceil(chars / 5), output_tokens: dice.int(1, 60) }
  const bill: ModelEvent[] = injector.injects('model_says_no_usage', 0.02) ? [] : [{ type: 'usage', usage }]
  return [...said, ...bill, { type: 'done', finish_reason }]
}

/** Returns random text and tool calls. */
export function randomAnswer(
  parts: SayingParts,
  request: Pick<ModelRequest, 'tools'> & { purpose: { kind: string } },
): ModelEvent[] {
  const { dice, injector } = parts
  const { purpose, tools } = request
  if (injector.injects('model_says_garbage', 0.01)) {
    return [{ type: 'text', text: dice.pick(['', ' ', '<html>502</html>', '{"goal":', '\u0000\u001b[2J']) }]
  }
  if (purpose.kind === 'goal_generation') return [{ type: 'text', text: aim(dice) }]
  if (purpose.kind === 'other' || tools.length === 0) return [{ type: 'text', text: sentence(dice) }]
  const finish = tools.find(({ name }) => name === 'finish_goal')
  return dice.pickWeighted<() => ModelEvent[]>([
    [62, () => calls(parts, request)],
    [finish ? 22 : 0, () => [call(parts, 'finish_goal', { summary: sentence(dice), evidence: [] })]],
    [10, () => [{ type: 'text', text: sentence(dice) }]],
    [3, () => [{ type: 'text', text: "I'm sorry, I can't do that." }]],
    [3, () => [{ type: 'text', text: '' }]],
  ])()
}

function aim(dice: Dice): string {
  if (dice.chance(0.12)) return '{"goal": "", "reasoning": "there is nothing to do"}'
  const goal = `${dice.pick(ACTION_EVENTS)} the ${dice.pick(THINGS)} of the ${dice.pick(PLACES)} ${dice.int(1, 999)}`
  return JSON.stringify({ goal, reasoning: 'the dice said so' })
}

function sentence(dice: Dice): string {
  return `I looked at the ${dice.pick(THINGS)} of the ${dice.pick(PLACES)}.`
}

function calls(parts: SayingParts, { tools }: Pick<ModelRequest, 'tools'>): ModelEvent[] {
  const { dice, injector, favoured } = parts
  const others = tools.filter(({ name }) => name !== 'finish_goal')
  const own = others.filter(({ name }) => name.startsWith('sim_') || favoured.includes(name))
  const made: ModelEvent[] = []
  for (
    let left = dice.pickWeighted([
      [7, 1],
      [2, 2],
      [1, 3],
    ]);
    left > 0;
    left--
  ) {
    const tool = dice.pick(own.length > 0 && dice.chance(0.5) ? own : others)
    made.push(call(parts, tool.name, argumentsFor(tool.parameters, dice, parts.names())))
  }
  if (injector.injects('model_calls_unknown_tool', 0.01)) made.push(call(parts, 'no_such_tool', {}))
  if (dice.chance(0.06)) made.push({ ...made[0]! })
  return made
}

function call({ dice, injector }: SayingParts, name: string, args: unknown): ModelEvent {
  const json = JSON.stringify(args)
  const torn = injector.injects('model_tears_arguments', 0.01)
  return {
    type: 'tool_call',
    id: dice.chance(0.05) ? '' : `c${dice.int(0, 1e9).toString(36)}`,
    name,
    arguments: torn ? json.slice(0, Math.floor(json.length / 2)) : json,
  }
}
