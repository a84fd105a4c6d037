import { capitalise, fill, tradeOf } from './lore.ts'
import { oneLine, quote, type Scene } from './scene.ts'
import { act, callsOf, end, type Step } from './step.ts'

/** Line of the prompt for a message from another agent that expects an answer. */
const ASKED = /\bMessage (msg-[\w-]+) \((\w+)\) from (\S+); it expects an answer/
/** Form of a goal that answers a message. */
const ANSWERS = /^Answer (msg-[\w-]+) of (\S+) by reply: (.*)$/

/** Returns a goal that answers another agent's question; such goals come before the agent's own. */
export function answeringGoal({ prompt }: Scene): { goal: string; reasoning: string } | undefined {
  const request = ASKED.exec(prompt)
  if (!request) return undefined
  const [whole, id, , from] = request
  const goal = `Answer ${id} of ${from} by reply: ${wordsAfter(prompt, request.index + whole.length)}`
  return { goal: goal.slice(0, 480), reasoning: 'Someone waits for it.' }
}

/** Returns the step that answers a new message, or the message that the goal is about. */
export function answer(scene: Scene): Step | undefined {
  const { unread, acts, objective } = scene
  for (const remark of unread) {
    const request = ASKED.exec(remark)
    if (request) return reply(scene, request[1]!, wordsAfter(remark, request.index + request[0].length))
  }
  const [, id, , words] = ANSWERS.exec(objective) ?? []
  if (!id) return undefined
  return callsOf(acts, 'reply').some(({ args }) => args.id === id) ? end(scene) : reply(scene, id, words ?? '')
}

function reply({ role, draw }: Scene, id: string, question: string): Step {
  const { topics, thoughts } = tradeOf(role)
  const topic = topics[Math.floor(draw(`topic ${id}`) * topics.length)]!
  const thought = fill(thoughts[Math.floor(draw(`thought ${id}`) * thoughts.length)]!, { topic })
  const body = `You wrote ${quote(question)}. ${capitalise(thought)} (Simulated by rules, not an AI model.)`
  return act('Someone waits for an answer.', 'reply', { id, body })
}

/** Returns the quoted text of a message. */
function wordsAfter(text: string, from: number): string {
  const written = /to you\W*<<<\s*([\s\S]*?)\s*>>>/.exec(text.slice(from))?.[1] ?? ''
  return oneLine(written).slice(0, 240)
}
