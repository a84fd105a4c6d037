import { OpenWorkSources, PendingMessages, PromptSections } from '#core/goals/contract'
import { definePlugin } from '#kernel'
import { withEarlierNames } from '#lib/earlier-names'
import { Effects } from '#platform/store/contract'
import { awaitedAnswers, endLongWaits, LONGEST_WAIT_MS } from './awaited.ts'
import { A2AConfig } from './config.ts'
import { Mail, MessageSent, Peers } from './contract.ts'
import { MailService } from './mail.ts'
import { Mailboxes } from './mailboxes/mailboxes.ts'
import { messageOperations } from './operations.ts'
import { peers } from './peers.ts'
import { askedSection, mailMessages, unansweredSection } from './pending-messages.ts'
import { A2A_EFFECTS } from './repository.ts'
import { forgetMessages } from './retention.ts'

export default definePlugin({
  name: 'a2a',
  description: 'Messages between agents: typed, in threads, delivered exactly once, with a mailbox in files.',
  needs: ['store', 'agents', 'goals'],
  section: 'a2a',
  config: A2AConfig,
  setup(svc, config) {
    for (const effect of A2A_EFFECTS) svc.add(Effects, effect.kind)
    for (const operation of messageOperations) svc.operation(operation)
    svc.event('message_sent', MessageSent)
    svc.provide(Mail, withEarlierNames(new MailService(svc, config), { shown: 'textForModel', unread: 'listUnread' }))
    svc.provide(Peers, peers(svc))
    forgetMessages(svc)
    svc.add(PendingMessages, mailMessages(svc))
    svc.add(PromptSections, unansweredSection(svc))
    svc.add(PromptSections, askedSection(svc))
    svc.add(OpenWorkSources, awaitedAnswers(svc))
    // After a reload, waits that ended since the last heartbeat are ended, too.
    let checked = svc.clock.ms() - LONGEST_WAIT_MS
    svc.on('beat', async () => {
      const now = svc.clock.ms()
      await endLongWaits(svc, checked, now)
      checked = now
    })

    const mailboxes = new Mailboxes(svc)
    svc.wakeSource({ name: 'a2a', wait: signal => mailboxes.wait(signal) })
    svc.start(() => {
      const stop = new AbortController()
      const writing = mailboxes.project(stop.signal)
      return () => {
        stop.abort()
        return writing
      }
    })
  },
})
