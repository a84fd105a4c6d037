import type { MessageSource } from '#core/goals/contract'
import type { PluginHandle } from '#kernel'
import { Mail } from './contract.ts'
import { fencedMessage, headOf } from './fence.ts'

/** Maximum number of messages in one prompt, each cut to a number of characters; the others follow in the next. */
const AT_ONCE = 8
const LONGEST = 2_000

/** Adds an agent's unread messages to its prompts; messages that were shown are marked read. */
export function mailMessages(svc: PluginHandle): MessageSource {
  return {
    name: 'a2a',
    portion: AT_ONCE,
    async pending(agent_id) {
      const mail = svc.use(Mail)
      const messages = await mail.listUnread(agent_id, AT_ONCE)
      return {
        items: messages.map(message => ({ from: headOf(message, agent_id), text: fencedMessage(message, LONGEST) })),
        acknowledgements: messages.length === 0 ? [] : [mail.read(messages.map(({ message_id }) => message_id))],
      }
    },
  }
}
