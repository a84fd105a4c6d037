/** Model of a soak: a server like those of providers, in its own process, with random answers and random failures. */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Answer,
  type FaultMode,
  fault,
  type ModelServerRequest,
  modelServer,
  type Reply,
  refuse,
  together,
  toolCall,
} from '../../support/model/model-server.ts'
import { Dice } from '../../support/simulation/dice.ts'
import { FaultInjector } from '../../support/simulation/fault-injector.ts'
import { randomAnswer } from '../../support/simulation/model/model.ts'

/** Messages to this process, and its answers. */
export type ToModel = { begin: number } | { agents: readonly string[] } | 'calm' | 'report'
export interface ModelReport {
  requests: number
  /** Tokens of answers that were read to their last byte. */
  billed: number
  faults: Record<string, number>
}

/** Number of tool calls in an answer that has far too many. */
const MANY_CALLS = 4_000
/** The provider refuses every request at the beginning of each period except the first, in milliseconds. */
const REFUSING = { every: 90_000, for: 8_000 }
/** The share of requests that fail. */
const FAULTY = 0.1
const MODES: readonly FaultMode[] = [
  ...(['500', 'hang', 'drip', 'cleancut', 'rst', 'stall', 'badjson', 'html200', 'empty'] as const),
  ...(['nousage', 'negusage', 'badtool', 'unknowntool', 'dupids'] as const),
]
const TOO_MUCH = () => refuse(429, 'Rate limit reached', { headers: { 'retry-after': '1' } })
/** Commands that agents run: short, long, with much output, and missing. */
const COMMANDS = ['ls -la', 'seq 1 20000', 'sleep 0.3', 'cat notes.txt', 'sort plan.md', 'false', 'no-such-program']

const counts: Record<string, number> = {}
let billed = 0
let agents: readonly string[] = []
let faulty = FAULTY
const began = performance.now()

process.on('message', async (message: ToModel) => {
  if (message === 'report') process.send?.({ requests: server?.requests.length ?? 0, billed, faults: counts })
  else if (message === 'calm') faulty = 0
  else if ('agents' in message) agents = message.agents
  else await begin(message.begin)
})
process.on('disconnect', () => process.exit())

let server: Awaited<ReturnType<typeof modelServer>> | undefined

async function begin(seed: number): Promise<void> {
  server = await modelServer({ script: async request => replyTo(request, new Dice(seed, `model/${request.n}`)) })
  process.send?.(server.url)
}

async function replyTo(request: ModelServerRequest, dice: Dice): Promise<Reply> {
  const reply = refusal() ?? (dice.chance(faulty) ? faultOf(dice, request) : answerTo(request, dice))
  const { n } = request
  void request.ended.then(ended => {
    const entry = server!.bill.findLast(entry => entry.n === n)
    if (ended === 'answered' && reply.kind === 'answer' && reply.usage === undefined && entry)
      billed += entry.input_tokens + entry.output_tokens
    // The prompts of a whole day do not fit into memory.
    request.prompt = ''
    request.body.messages = []
    request.body.tools = []
  })
  await sleep(dice.chance(0.01) ? dice.int(1_000, 1_900) : dice.int(10, 250))
  return reply
}

/** Returns the reply to every request while the provider refuses all of them. */
function refusal(): Reply | undefined {
  const elapsed = performance.now() - began
  if (faulty === 0 || elapsed < REFUSING.every || elapsed % REFUSING.every > REFUSING.for) return undefined
  count('refused')
  return refuse(403, 'This account is suspended')
}

function faultOf(dice: Dice, { body }: ModelServerRequest): Reply {
  const mode = dice.chance(0.1) ? '429' : dice.pick([...MODES, 'manycalls' as const])
  count(mode)
  if (mode === 'manycalls') {
    const names = (body.tools ?? []).map(each => each.function.name)
    const name = names.length > 0 ? dice.pick(names) : 'no_such_tool'
    return together(...Array.from({ length: MANY_CALLS }, (_, n) => toolCall(name, { n })))
  }
  return mode === '429' ? TOO_MUCH() : fault(mode)
}

function answerTo({ body, prompt }: ModelServerRequest, dice: Dice): Answer {
  const tools = (body.tools ?? []).map(each => each.function)
  const injector = new FaultInjector('some', dice, () => 0)
  const kind = prompt.includes('"goal":') ? 'goal_generation' : tools.length > 0 ? 'goal_pursuit' : 'other'
  const answer: Answer = { kind: 'answer', text: '', tool_calls: [] }
  for (const said of randomAnswer(
    { dice, injector, names: () => agents, favoured: [] },
    { tools, purpose: { kind } },
  )) {
    if (said.type === 'text') answer.text += said.text
    if (said.type !== 'tool_call') continue
    const { id, name } = said
    const args = name === 'shell_exec' ? JSON.stringify({ command: dice.pick(COMMANDS) }) : said.arguments
    answer.tool_calls.push({ ...(id ? { id } : {}), name, arguments: args })
  }
  for (const kind of Object.keys(injector.counts)) count(kind)
  return answer
}

function count(kind: string): void {
  counts[kind] = (counts[kind] ?? 0) + 1
}
