import { useAction } from '../../api/action.ts'
import { api } from '../../api/client.ts'
import { ofKinds, useQuery } from '../../api/query.ts'
import { to } from '../../routes.ts'
import { Card, Figure } from '../../ui/card.tsx'
import { Empty, Loaded, Trouble } from '../../ui/states.tsx'
import { Status } from '../../ui/status.tsx'
import { Code } from '../../ui/text/code.tsx'
import { Words } from '../../ui/text/conversation.tsx'
import { count, dollars, visible } from '../../ui/text/format.ts'
import { Message } from '../../ui/text/message.tsx'
import { When } from '../../ui/time.tsx'
import type { Answer } from '../../ui/types.ts'
import { PartyOf } from './party.tsx'

type Run = Answer<'patterns.get'>

/** One run of a pattern: its progress, its result, and all messages. */
export function PatternRun({ id }: { id: string }) {
  const query = useQuery(`pattern ${id}`, {
    ask: () => api.patterns.get({ pattern_id: id }),
    on: ofKinds('pattern_', 'message_sent'),
  })
  const cancel = useAction(async () => {
    await api.patterns.cancel({ pattern_id: id })
    await query.reload()
  }, 'Cancelled.')
  return (
    <Loaded query={query}>
      {run => (
        <div class="stack">
          <Card
            title={`${visible(run.name)} ${run.pattern_id}`}
            aside={
              <>
                <Status of={run.status} />
                {run.status === 'running' && (
                  <button
                    type="button"
                    class="danger small"
                    disabled={cancel.running}
                    onClick={() => void cancel.run()}
                  >
                    Cancel
                  </button>
                )}
                <a href={to('society', ['patterns'])}>All patterns</a>
              </>
            }
          >
            <div class="stack">
              <Words text={run.task} />
              <p class="soft">
                Initiator: <PartyOf id={run.initiator} /> · Participants:{' '}
                {run.participants.map((each, at) => (
                  <>
                    {at > 0 && ', '}
                    <PartyOf key={each} id={each} />
                  </>
                ))}
              </p>
              <Figures run={run} />
              <Trouble fault={cancel.fault} />
            </div>
          </Card>
          <div class="columns">
            <Messages run={run} />
            <Card title="Result">
              {run.result ? <Code value={run.result} label="Result" /> : <p class="soft">No result yet.</p>}
            </Card>
          </div>
        </div>
      )}
    </Loaded>
  )
}

function Figures({ run: { messages, spent, budget, rounds, created_at, ended_at, deadline } }: { run: Run }) {
  const limit = [
    ...(budget.usd === null ? [] : [dollars(budget.usd)]),
    ...(budget.tokens === null ? [] : [`${count(budget.tokens)} tokens`]),
  ].join(', ')
  return (
    <dl class="figures">
      <Figure label="Messages" value={messages} note={rounds > 1 ? `at most ${rounds} rounds` : ''} />
      <Figure label="Spent" value={dollars(spent.usd)} note={`${count(spent.tokens)} tokens`} />
      <Figure label="Budget" value={limit || 'none'} />
      <Figure label="Started" value={<When at={created_at} />} />
      {ended_at ? (
        <Figure label="Ended" value={<When at={ended_at} />} />
      ) : (
        <Figure label="Deadline" value={<When at={deadline} />} />
      )}
    </dl>
  )
}

function Messages({ run: { pattern_id, messages } }: { run: Run }) {
  const query = useQuery(`pattern said ${pattern_id} ${messages}`, {
    ask: () => api.patterns.messages({ pattern_id }),
    on: ofKinds('pattern_', 'message_sent'),
  })
  return (
    <Card title="Messages">
      <Loaded query={query}>
        {listed =>
          listed.length === 0 ? (
            <Empty title="No messages yet." />
          ) : (
            <ol class="plain list tall">
              {listed.map(message => (
                <Message
                  key={message.message_id}
                  message={message}
                  from={<PartyOf id={message.from_agent} />}
                  to={<PartyOf id={message.to_agent} />}
                />
              ))}
            </ol>
          )
        }
      </Loaded>
    </Card>
  )
}
