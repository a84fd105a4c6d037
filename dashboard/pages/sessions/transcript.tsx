import { api } from '../../api/client.ts'
import { never, ofKinds, useQuery } from '../../api/query.ts'
import { to } from '../../routes.ts'
import { Empty, Loaded } from '../../ui/states.tsx'
import { agentOf } from '../../ui/text/agent-names.ts'
import { Conversation } from '../../ui/text/conversation.tsx'
import { visible } from '../../ui/text/format.ts'

/** Transcript of one session, oldest message first. */
export function Transcript({ session_id }: { session_id: string }) {
  const query = useQuery(`session ${session_id}`, {
    ask: () => api.tasks.transcript({ session_id }),
    on: ofKinds('task_', 'tool_result'),
  })
  const session = useQuery(`session of ${session_id}`, { ask: () => api.sessions.get({ session_id }), on: never })
  return (
    <>
      <div class="page-head">
        <h1>
          Session <code>{visible(session_id)}</code>
        </h1>
        {session.data && <a href={to('agents', [session.data.agent_id])}>{visible(agentOf(session.data))}</a>}
        <a class="aside" href={to('sessions')}>
          All sessions
        </a>
      </div>
      <Loaded query={query}>
        {messages =>
          messages.length === 0 ? (
            <Empty title="No messages in this session yet." />
          ) : (
            <Conversation messages={messages} />
          )
        }
      </Loaded>
    </>
  )
}
