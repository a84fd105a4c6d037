import { api } from '../../api/client.ts'
import { useQuery } from '../../api/query.ts'
import { Loaded } from '../../ui/states.tsx'
import { Status } from '../../ui/status.tsx'
import { visible } from '../../ui/text/words.ts'
import { When } from '../../ui/time.tsx'
import type { Waiting } from '../../ui/types.ts'

interface OutcomeProps {
  approval: Waiting
  /** Reason or edited arguments that were typed but not sent. */
  unsent: string | undefined
}

/** Decision on a call, in place of its buttons. */
export function Outcome({ approval: { approval_id, agent_id }, unsent }: OutcomeProps) {
  const query = useQuery(`approval ${approval_id}`, {
    ask: () => api.approvals.show({ approval_id }),
    // The tool's result shows that an approved call ran.
    on: event =>
      event.data?.approval_id === approval_id || (event.type === 'tool_result' && event.agent_id === agent_id),
  })
  return (
    <div class="outcome" role="status" tabIndex={-1}>
      <Loaded query={query}>
        {({ status, reason, edited, resolved_by, resolved_at }) => (
          <p>
            {status === 'pending' ? 'Decided' : <Status of={status} />}
            {edited && ' as edited'} <When at={resolved_at} />
            {resolved_by && ` by ${visible(resolved_by)}`}
            {reason && <>: {visible(reason)}</>}
          </p>
        )}
      </Loaded>
      {unsent && (
        <p class="held">
          Not sent: <q>{unsent}</q>
        </p>
      )}
    </div>
  )
}
