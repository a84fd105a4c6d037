import type { MessageSource, PromptSection } from '#core/goals/contract'
import { lineOf } from '#core/memory/contract'
import type { PluginHandle } from '#kernel'
import { Store } from '#platform/store/contract'
import { Mail, OPERATOR } from './contract.ts'
import { fencedMessage, headOf, labelOf } from './fence.ts'
import { type MessageRow, messageOf, openMessages, questionsToOperator } from './repository.ts'

/** Maximum number of messages in one prompt, each cut to a number of characters; the others follow in the next. */
const AT_ONCE = 8
const LONGEST = 2_000
/** Maximum number of unanswered messages in a reminder, and of characters of each. */
const REMINDED = 5
const REMINDER = 200
/** Maximum number of messages to the operator that are shown beside its nudges, and of characters of each. */
const ASKED = 3
const ASKED_CHARACTERS = 1_000

/** Adds an agent's unread messages to its prompts; messages that were shown are marked read. */
export function mailMessages(svc: PluginHandle): MessageSource {
  return {
    name: 'a2a',
    portion: AT_ONCE,
    async pending(agent_id) {
      const mail = svc.use(Mail)
      const messages = await mail.listUnread(agent_id, AT_ONCE)
      const items = messages.map(async message => ({
        from: await headOf(svc.use(Store), message, agent_id),
        text: fencedMessage(message, LONGEST),
        is_operator: message.from_agent === OPERATOR,
      }))
      return {
        items: await Promise.all(items),
        acknowledgements: messages.length === 0 ? [] : [mail.read(messages.map(({ message_id }) => message_id))],
      }
    },
  }
}

/**
 * Reminds an agent of the messages that it has read and not answered: when it chooses a goal, and at the beginning of a
 * goal that it chose. The tools that it names there are offered to the agent. When it chooses a goal, it also sees which
 * of its own messages have no answer yet, so that it does not ask again.
 */
export function unansweredSection(svc: PluginHandle): PromptSection {
  return {
    name: 'unanswered_messages',
    stage: 70,
    prompts: ['goal_generation', 'goal_opening'],
    async text({ agent_id }, _profile, { nudges = [] }, goal) {
      if (goal) return goal.origin === 'generated' ? openingReminder(svc, agent_id) : undefined
      const { unanswered, awaited } = await openMessages(svc.use(Store), agent_id, REMINDED)
      const texts = unanswered
        // The messages that led to a goal are in its prompt.
        .filter(({ message_id }) => !nudges.some(text => text.includes(message_id)))
        .map(row => svc.use(Mail).textForModel(messageOf(row), agent_id, REMINDER))
      const owed = texts.length > 0 && ['Messages that you read and have not answered:', ...(await Promise.all(texts))]
      const awaitedPart = awaited.length > 0 && [await awaitedText(svc, awaited)]
      return [owed, awaitedPart].flatMap(part => part || []).join('\n\n')
    },
  }
}

async function openingReminder(svc: PluginHandle, agent_id: string): Promise<string | undefined> {
  const messages = await svc.use(Mail).listUnanswered(agent_id, REMINDED)
  if (messages.length === 0) return undefined
  const named = messages.map(
    async ({ message_id, from_agent }) => `${message_id} from ${await labelOf(svc.use(Store), from_agent)}`,
  )
  return `Messages that you read and have not answered: ${(await Promise.all(named)).join(', ')}. Use read_message to read one, \`reply\` to answer it, reject_request to decline it.`
}

async function awaitedText(svc: PluginHandle, messages: readonly MessageRow[]): Promise<string> {
  const lines = messages.map(messageOf).map(async ({ message_id, type, to_agent, subject, body, ts }) => {
    const words = lineOf(subject || body, REMINDER / 2)
    return `- ${ts.slice(0, 10)}: ${message_id} (${type}) to ${await labelOf(svc.use(Store), to_agent)}: ${words}`
  })
  const heading = 'What you asked others, without an answer yet. It comes to you as a message; do not ask again:'
  return [heading, ...(await Promise.all(lines))].join('\n')
}

/**
 * Shows an agent its own last messages to the operator beside nudges, which may answer them: when it chooses a goal, and
 * at the beginning of a goal that the nudges led to.
 */
export function askedSection(svc: PluginHandle): PromptSection {
  return {
    // Last, right before the nudges of the prompt for a goal.
    name: 'messages_to_operator',
    stage: 2_000,
    prompts: ['goal_generation', 'goal_opening'],
    async text({ agent_id }, _profile, { nudges }, goal) {
      if (nudges?.length === 0) return undefined
      const questions = await questionsToOperator(svc.use(Store), agent_id, goal?.created_at ?? null, ASKED)
      if (questions.length === 0) return undefined
      const texts = questions
        .reverse()
        .map(row => svc.use(Mail).textForModel(messageOf(row), agent_id, ASKED_CHARACTERS))
      return ['What you wrote to the operator before its message:', ...(await Promise.all(texts))].join('\n\n')
    },
  }
}
