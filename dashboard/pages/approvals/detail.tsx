import { useRef } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { ofKinds, useQuery } from '../../api/query.ts'
import { to } from '../../routes.ts'
import { Card } from '../../ui/card.tsx'
import { Loaded } from '../../ui/states.tsx'
import { Status } from '../../ui/status.tsx'
import { agentOf } from '../../ui/text/agent-names.ts'
import { Arguments } from '../../ui/text/arguments.tsx'
import { Diff } from '../../ui/text/diff.tsx'
import { moment, visible } from '../../ui/text/format.ts'
import { When } from '../../ui/time.tsx'
import { deciderOf } from './decide.ts'
import { Request } from './request.tsx'

/** One approval in full, decided or not. */
export function Detail({ id }: { id: string }) {
  /** Id of the call if it was pending when the page was opened: it keeps its place once decided. */
  const waited = useRef('')
  const query = useQuery(`approval ${id}`, {
    ask: () => api.approvals.show({ approval_id: id }),
    on: ofKinds('approval_'),
  })
  return (
    <>
      <div class="page-head">
        <h1>
          Approval <code>{visible(id)}</code>
        </h1>
        <a class="aside" href={to('approvals')}>
          All pending approvals
        </a>
      </div>
      <Loaded query={query} below>
        {approval => {
          if (approval.status === 'pending') waited.current = id
          return waited.current === id ? (
            <ul class="plain">
              <Request key={id} approval={approval} isOpen={approval.status === 'pending'} onDecided={query.reload} />
            </ul>
          ) : (
            <Card title={visible(approval.tool_name)} aside={<Status of={approval.status} />}>
              <div class="stack">
                <dl class="pairs">
                  <dt>Agent</dt>
                  <dd>
                    <a href={to('agents', [approval.agent_id])}>{visible(agentOf(approval))}</a>
                  </dd>
                  <dt>Requested</dt>
                  <dd>{moment(approval.created_at)}</dd>
                  <dt>Decided</dt>
                  <dd>
                    <When at={approval.resolved_at} />
                    {approval.resolved_by && ` by ${visible(deciderOf(approval.resolved_by))}`}
                  </dd>
                  {approval.reason && (
                    <>
                      <dt>Reason</dt>
                      <dd>{visible(approval.reason)}</dd>
                    </>
                  )}
                  <dt>SHA-256</dt>
                  <dd>
                    <code>{approval.args_sha256}</code>
                  </dd>
                </dl>
                {approval.edited ? (
                  <Diff before={approval.original_arguments} after={approval.arguments} label="Changed arguments" />
                ) : (
                  <Arguments value={approval.arguments} whole />
                )}
              </div>
            </Card>
          )
        }}
      </Loaded>
    </>
  )
}
