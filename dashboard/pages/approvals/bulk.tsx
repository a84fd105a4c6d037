import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { api, faultOf } from '../../api/client.ts'
import { QUEUE } from '../../api/waiting.ts'
import { to } from '../../routes.ts'
import { focusOnMount } from '../../ui/focus.ts'
import { Status } from '../../ui/status.tsx'
import { agentOf } from '../../ui/text/agent-names.ts'
import { plural, visible } from '../../ui/text/format.ts'
import type { Waiting } from '../../ui/types.ts'
import { claimDecision } from './decide.ts'

/** Outcome of one call in a bulk decision. */
export interface BulkOutcome {
  approval: Waiting
  status: string
  /** Message of the server if the decision failed. */
  trouble: string
}

interface BulkProps {
  /** Calls that can be decided here: pending, and not being edited. */
  waiting: readonly Waiting[]
  chosen: readonly Waiting[]
  /** Number of chosen calls whose long arguments were not shown. */
  unseen: number
  onChoose: (ids: readonly string[], on: boolean) => void
  onDecided: (decided: readonly BulkOutcome[]) => Promise<void>
  /** Outcomes of the previous bulk decision. */
  children: ComponentChildren
}

/** Decides several calls at once, with one reason for all of them. */
export function Bulk({ waiting, chosen, unseen, onChoose, onDecided, children }: BulkProps) {
  const [denying, setDenying] = useState(false)
  const [reason, setReason] = useState('')
  const [done, setDone] = useState<number | undefined>(undefined)
  const all = useRef<HTMLInputElement>(null)
  const some = chosen.length > 0
  useEffect(() => {
    if (all.current) all.current.indeterminate = some && chosen.length < waiting.length
  }, [chosen.length, waiting.length])
  const decide = async (decision: 'approve' | 'deny') => {
    if (!some || !claimDecision()) return
    const why = decision === 'deny' ? reason.trim() : ''
    const results: BulkOutcome[] = []
    setDone(0)
    for (const approval of chosen) {
      results.push(await decideOne(approval, decision, why))
      setDone(results.length)
    }
    setDone(undefined)
    setDenying(false)
    if (decision === 'deny') setReason('')
    await onDecided(results)
  }
  const busy = done !== undefined
  return (
    <section class="card bulk" aria-label="Bulk decision">
      <div class="row">
        <label class="row">
          <input
            ref={all}
            type="checkbox"
            checked={some && chosen.length === waiting.length}
            disabled={busy || waiting.length === 0}
            onChange={event =>
              onChoose(
                waiting.map(({ approval_id }) => approval_id),
                event.currentTarget.checked,
              )
            }
          />
          {busy
            ? `${done} of ${chosen.length} decided`
            : some
              ? `${chosen.length} selected`
              : waiting.length < QUEUE
                ? `All ${waiting.length}`
                : `The ${QUEUE} oldest`}
        </label>
        <div class="aside row">
          <button
            type="button"
            class="primary"
            disabled={!some || busy || unseen > 0}
            onClick={() => void decide('approve')}
          >
            {some ? `Approve ${chosen.length}` : 'Approve'}
          </button>
          <button
            type="button"
            class="danger"
            disabled={!some || busy}
            aria-expanded={denying}
            onClick={() => setDenying(true)}
          >
            {some ? `Deny ${chosen.length}…` : 'Deny…'}
          </button>
        </div>
      </div>
      {unseen > 0 && (
        <p class="held">
          {plural(unseen, 'call has', 'calls have')} long arguments. Show all of them before you approve.
        </p>
      )}
      {denying && (
        <form
          class="stack"
          onSubmit={event => {
            event.preventDefault()
            void decide('deny')
          }}
        >
          <label>
            Reason (optional). Each agent reads it and plans again.
            <textarea
              rows={2}
              maxLength={2000}
              value={reason}
              onInput={event => setReason(event.currentTarget.value)}
              ref={focusOnMount}
            />
          </label>
          <div class="row">
            <button type="submit" class="danger" disabled={busy || !some}>
              Deny {plural(chosen.length, 'call')}
            </button>
            <button type="button" class="quiet" onClick={() => setDenying(false)}>
              Cancel
            </button>
          </div>
        </form>
      )}
      {children}
    </section>
  )
}

async function decideOne(approval: Waiting, decision: 'approve' | 'deny', reason: string): Promise<BulkOutcome> {
  const { approval_id } = approval
  try {
    const { status } = await api.approvals.decide({ approval_id, decision, ...(reason ? { reason } : {}) })
    return { approval, status, trouble: '' }
  } catch (error) {
    return { approval, status: 'failed', trouble: faultOf(error).message }
  }
}

/** Outcome of each call, until it is closed. */
export function Results({ results, onClose }: { results: readonly BulkOutcome[]; onClose: () => void }) {
  if (results.length === 0) return null
  const failed = results.filter(({ trouble }) => trouble).length
  return (
    <section aria-label="Outcomes" role="status">
      <header class="row">
        <h2>
          {plural(results.length - failed, 'call')} decided{failed > 0 && `, ${failed} failed`}
        </h2>
        <button type="button" class="aside quiet small" onClick={onClose}>
          Close
        </button>
      </header>
      <ul class="plain list">
        {results.map(({ approval, status, trouble }) => (
          <li key={approval.approval_id}>
            <Status of={status} />
            <span>
              <a href={to('approvals', ['item', approval.approval_id])}>{visible(approval.tool_name)}</a> of{' '}
              {visible(agentOf(approval))}
              {trouble && <small class="held"> {visible(trouble)}</small>}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
