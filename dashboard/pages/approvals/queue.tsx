import { useState } from 'preact/hooks'
import { QUEUE, useWaiting } from '../../api/waiting.ts'
import { to } from '../../routes.ts'
import { Empty, Loaded } from '../../ui/states.tsx'
import { plural, visible } from '../../ui/text/format.ts'
import type { Waiting } from '../../ui/types.ts'
import { Bulk, type BulkOutcome, Results } from './bulk.tsx'
import { isCut, Request } from './request.tsx'
import { useShown } from './shown.ts'

/** Pending calls, to decide one by one or several at once; calls decided since the page was opened keep their place. */
export function Queue() {
  const queue = useWaiting()
  const { shown, clear } = useShown(queue.data)
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [edited, setEdited] = useState<ReadonlySet<string>>(new Set())
  const [seen, setSeen] = useState<ReadonlySet<string>>(new Set())
  const [results, setResults] = useState<readonly BulkOutcome[]>([])
  const open = shown.filter(({ isOpen }) => isOpen).map(({ approval }) => approval)
  // A call that is being edited can only be decided as edited.
  const free = open.filter(({ approval_id }) => !edited.has(approval_id))
  const picked = free.filter(({ approval_id }) => chosen.has(approval_id))
  const decided = shown.length - open.length
  const isBulk = shown.length > 1
  const choose = (ids: readonly string[], on: boolean) => setChosen(had => withSelection(had, ids, on))
  return (
    <Loaded query={queue} below>
      {() => (
        <>
          {isBulk && (
            <Bulk
              waiting={free}
              chosen={picked}
              unseen={picked.filter(each => isUnseen(each, seen)).length}
              onChoose={choose}
              onDecided={async decided => {
                setChosen(new Set())
                setResults(decided)
                await queue.reload()
              }}
            >
              <Results results={results} onClose={() => setResults([])} />
            </Bulk>
          )}
          {shown.length > 0 && (
            <ul class="stack plain">
              {shown.map(({ approval, isOpen }) => {
                const { approval_id, tool_name, agent_id } = approval
                return (
                  <Request
                    key={approval_id}
                    approval={approval}
                    isOpen={isOpen}
                    onDecided={queue.reload}
                    onEditing={on => setEdited(had => withSelection(had, [approval_id], on))}
                    onSeen={() => setSeen(had => new Set(had).add(approval_id))}
                    box={
                      isBulk && (
                        <label class="tick">
                          <input
                            type="checkbox"
                            aria-label={`Select ${visible(tool_name)} of ${agent_id}`}
                            disabled={!isOpen || edited.has(approval_id)}
                            checked={picked.includes(approval)}
                            onChange={event => choose([approval_id], event.currentTarget.checked)}
                          />
                        </label>
                      )
                    }
                  />
                )
              })}
            </ul>
          )}
          {/* After a failure, what is known may be old. */}
          {open.length === 0 && !queue.fault && (
            <Empty title="No pending approvals.">
              The <a href={to('config', [], { section: 'approval' })}>configuration</a> sets which tools need approval.
            </Empty>
          )}
          {open.length === QUEUE && (
            <p class="hint">The {QUEUE} oldest calls are shown. Others appear as you decide on these.</p>
          )}
          {decided > 0 && (
            <p>
              <button type="button" class="small" onClick={clear}>
                Remove {plural(decided, 'decided call')} from the page
              </button>
            </p>
          )}
        </>
      )}
    </Loaded>
  )
}

const isUnseen = (approval: Waiting, seen: ReadonlySet<string>) => isCut(approval) && !seen.has(approval.approval_id)

function withSelection(had: ReadonlySet<string>, ids: readonly string[], on: boolean): ReadonlySet<string> {
  const next = new Set(had)
  for (const id of ids) on ? next.add(id) : next.delete(id)
  return next
}
