import { useState } from 'preact/hooks'
import { QUEUE, useWaiting } from '../../api/waiting.ts'
import { to } from '../../routes.ts'
import { Empty, Loaded } from '../../ui/states.tsx'
import type { Waiting } from '../../ui/types.ts'
import { plural, visible } from '../../ui/words.ts'
import { Bulk, type Decided, Results } from './bulk.tsx'
import { isCut, Request } from './request.tsx'

/** All that waits, one by one or several in one act. */
export function Queue() {
  const queue = useWaiting()
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [seen, setSeen] = useState<ReadonlySet<string>>(new Set())
  const [results, setResults] = useState<readonly Decided[]>([])
  const choose = (ids: readonly string[], on: boolean) => {
    const next = new Set(chosen)
    for (const id of ids) on ? next.add(id) : next.delete(id)
    setChosen(next)
  }
  return (
    <Loaded query={queue}>
      {waiting => (
        <>
          <Results results={results} onClose={() => setResults([])} />
          {waiting.length === 0 ? (
            <Empty title="Nothing waits for you.">
              Which tools have to ask, and whether any does, stands in the{' '}
              <a href={to('config', [], { section: 'approval' })}>configuration</a>.
            </Empty>
          ) : (
            <>
              {waiting.length > 1 && (
                <Bulk
                  waiting={waiting}
                  chosen={waiting.filter(({ approval_id }) => chosen.has(approval_id))}
                  unseen={waiting.filter(each => chosen.has(each.approval_id) && isUnseen(each, seen)).length}
                  onChoose={choose}
                  onDecided={async decided => {
                    setChosen(new Set())
                    setResults(decided)
                    await queue.reload()
                  }}
                />
              )}
              <ul class="stack plain">
                {waiting.map(approval => (
                  <Request
                    key={approval.approval_id}
                    approval={approval}
                    onDecided={queue.reload}
                    onSeen={() => setSeen(had => new Set(had).add(approval.approval_id))}
                    box={
                      waiting.length > 1 && (
                        <label class="tick">
                          <input
                            type="checkbox"
                            aria-label={`Choose ${visible(approval.tool_name)} of ${approval.agent_id}`}
                            checked={chosen.has(approval.approval_id)}
                            onChange={event => choose([approval.approval_id], event.currentTarget.checked)}
                          />
                        </label>
                      )
                    }
                  />
                ))}
              </ul>
              {waiting.length === QUEUE && (
                <p class="hint">
                  The {plural(QUEUE, 'call')} that waited longest; others come up as these are decided.
                </p>
              )}
            </>
          )}
        </>
      )}
    </Loaded>
  )
}

const isUnseen = (approval: Waiting, seen: ReadonlySet<string>) => isCut(approval) && !seen.has(approval.approval_id)
