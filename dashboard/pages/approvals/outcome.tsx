import type { Query } from '../../api/query.ts'
import { Loaded, Unsent } from '../../ui/states.tsx'
import { Status } from '../../ui/status.tsx'
import { visible } from '../../ui/text/format.ts'
import { When } from '../../ui/time.tsx'
import type { Approval } from '../../ui/types.ts'
import { deciderOf } from './decide.ts'

interface OutcomeProps {
  query: Query<Approval>
  /** Reason or edited arguments that were typed but not sent. */
  unsent: string | undefined
}

/** Decision on a call, in place of its buttons. */
export function Outcome({ query, unsent }: OutcomeProps) {
  return (
    <div class="outcome" role="status" tabIndex={-1}>
      <Loaded query={query}>
        {({ status, reason, edited, resolved_by, resolved_at }) => (
          <p>
            {status === 'pending' ? 'Decided' : <Status of={status} />}
            {edited && ' as edited'} <When at={resolved_at} />
            {resolved_by && ` by ${visible(deciderOf(resolved_by))}`}
            {reason && <>: {visible(reason)}</>}
          </p>
        )}
      </Loaded>
      <Unsent text={unsent} />
    </div>
  )
}
