import type { MessageSource, PromptSection } from '#core/goals/contract'
import type { PluginHandle } from '#kernel'
import { Store } from '#platform/store/contract'
import { Mail, OPERATOR } from './contract.ts'
import { fencedMessage, headOf } from './fence.ts'

/** Maximum number of messages in one prompt, each cut to a number of characters; the others follow in the next. */
const AT_ONCE = 8
const LONGEST = 2_000
/** Maximum number of unanswered messages in a reminder, and of characters of each. */
const REMINDED = 5
const REMINDER = 200

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
 * goal that it chose. The tools that it names there are offered to the agent.
 */
export function unansweredSection(svc: PluginHandle): PromptSection {
  return {
    ...{ name: 'unanswered_messages', stage: 70, prompts: ['goal_generation', 'goal_opening'] },
    async text({ agent_id }, _profile, _known, goal) {
      if (goal && goal.origin !== 'generated') return undefined
      const mail = svc.use(Mail)
      const messages = await mail.listUnanswered(agent_id, REMINDED)
      if (messages.length === 0) return undefined
      if (goal) {
        const named = messages.map(({ message_id, from_agent }) => `${message_id} from ${from_agent}`).join(', ')
        return `Messages that you read and have not answered: ${named}. Use read_message to read one, \`reply\` to answer it, reject_request to decline it.`
      }
      const texts = await Promise.all(messages.map(message => mail.textForModel(message, agent_id, REMINDER)))
      return ['Messages that you read and have not answered:', ...texts].join('\n\n')
    },
  }
}
