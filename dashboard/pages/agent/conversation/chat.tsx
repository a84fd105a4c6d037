import { useEffect, useRef, useState } from 'preact/hooks'
import { shownStatus } from '../../../../builtins/lib/task-end.ts'
import { useFault } from '../../../api/action.ts'
import { api, faultOf, isTaskFailure } from '../../../api/client.ts'
import { ofKinds, useQuery } from '../../../api/query.ts'
import { refine, to, usePlace } from '../../../routes.ts'
import { type Attachment, inputsOf } from '../../../ui/attach.tsx'
import { Card } from '../../../ui/card.tsx'
import { Pick } from '../../../ui/lists/filters.tsx'
import { Loaded, Trouble } from '../../../ui/states.tsx'
import { Status } from '../../../ui/status.tsx'
import { visible } from '../../../ui/text/format.ts'
import type { Task } from '../../../ui/types.ts'
import { useFollowed } from '../use-followed.ts'
import type { ViewProps } from '../view.ts'
import { Ask } from './ask.tsx'
import { Turn } from './turn.tsx'

const SHOWN = 30
/** The reader counts as being at the end of an answer if it is at most this far below the window. */
const FOLLOWED_PX = 200
/** Maximum length of a session's subject in the list of sessions, in characters. */
const SUBJECT_CHARS = 60
/** Returns the key of this page's own session with an agent: a session key belongs to one agent only. */
const keyOf = (agent_id: string) => `dashboard:${agent_id}`

interface Writing {
  instruction: string
  images: readonly Attachment[]
  text: string
  info: string
  /** Tasks that existed before, so that the one being written is shown once. */
  before: ReadonlySet<string>
}

/**
 * One-shot tasks in a session of this agent, its own or the one in the address: answers are shown while they are written,
 * and earlier ones stay.
 */
export function Chat({ agent: { agent_id: id, status } }: ViewProps) {
  const [writing, setWriting] = useState<Writing | undefined>(undefined)
  const [fault, setFault] = useFault()
  const stream = useRef<AbortController | undefined>(undefined)
  const { session: session_id } = usePlace().query
  const tasks = useQuery(`chat ${id} ${session_id ?? ''}`, {
    ask: () => tasksOf(id, session_id),
    on: ofKinds('task_', 'approval_'),
  })
  // Leaving the page only ends the stream: the task goes on, and is followed again on return.
  useEffect(() => () => stream.current?.abort(), [])
  const running = tasks.data?.findLast(task => task.status === 'running')
  // A task that was started elsewhere, or before the page was left: its answer so far, and what follows.
  const followed = useFollowed(writing ? undefined : running?.task_id, tasks.reload)
  const end = useRef<HTMLDivElement>(null)
  const isBusy = writing !== undefined || running !== undefined
  const wasBusy = useRef(false)
  wasBusy.current ||= isBusy
  const latest = tasks.data?.at(-1)
  // Keeps the latest message in view, also while it is written.
  const last = `${latest?.task_id} ${writing !== undefined}`
  useEffect(() => end.current?.scrollIntoView({ block: 'nearest' }), [last])
  // Follows a growing answer if the reader is at its end.
  useEffect(() => {
    if (end.current && end.current.getBoundingClientRect().bottom < innerHeight + FOLLOWED_PX)
      end.current.scrollIntoView({ block: 'nearest' })
  }, [writing?.text, followed?.text])

  const ask = async (instruction: string, images: readonly Attachment[]) => {
    const control = new AbortController()
    stream.current = control
    setFault(undefined)
    setWriting({ instruction, images, text: '', info: '', before: new Set(tasks.data?.map(({ task_id }) => task_id)) })
    const call = { signal: control.signal, idempotencyKey: newKey() }
    const session = session_id === undefined ? { session_key: keyOf(id) } : { session_id }
    const task = { id, instruction, images: inputsOf(images), toolkits: ['profile'], ...session }
    let taken = false
    try {
      for await (const { event, data } of api.tasks.stream(task, call)) {
        taken = true
        if (event === 'token') setWriting(had => had && { ...had, text: had.text + data.text })
        else if (event === 'reset') setWriting(had => had && { ...had, text: '' })
        else if (event === 'info') setWriting(had => had && { ...had, info: data.message })
      }
    } catch (error) {
      if (isTaskFailure(error)) taken = true
      else if (!control.signal.aborted) setFault(faultOf(error))
    }
    await tasks.reload()
    setWriting(undefined)
    return taken || control.signal.aborted
  }
  const stop = async () => {
    try {
      for (const task of await tasksOf(id, session_id)) {
        if (task.status === 'running') await api.tasks.cancel({ task_id: task.task_id })
      }
    } catch (error) {
      setFault(faultOf(error))
    }
    stream.current?.abort()
    await tasks.reload()
  }

  return (
    <Card
      title="Chat"
      aside={
        <>
          <SessionChoice id={id} chosen={session_id} />
          <a href={to('sessions')}>Sessions</a>
        </>
      }
    >
      <div class="stack">
        <Loaded query={tasks}>
          {messages => (
            <>
              {messages.length === 0 && !writing && (
                <p class="soft">
                  Ask the agent, or give it a small task: it answers here at once, and its goals continue. It remembers
                  the earlier messages of this chat.
                </p>
              )}
              <ol class="plain said">
                {messages
                  .filter(({ task_id }) => !writing || writing.before.has(task_id))
                  .map(task => (
                    <Turn
                      key={task.task_id}
                      task={task}
                      isLatest={task === messages.at(-1)}
                      followed={followed?.task_id === task.task_id ? followed : undefined}
                    />
                  ))}
                {writing && <Turn writing={writing} />}
              </ol>
            </>
          )}
        </Loaded>
        {/* Short, and always there: the answer itself would be read anew with each word. */}
        <p class="unseen" role="status">
          {wasBusy.current && !fault && (
            <>
              Task <Status of={isBusy ? 'running' : latest ? shownStatus(latest) : ''} />
            </>
          )}
        </p>
        <Trouble fault={fault} />
        <div ref={end}>
          <Ask busy={isBusy} dead={status === 'dead'} onAsk={ask} onStop={() => void stop()} />
        </div>
      </div>
    </Card>
  )
}

/** Chooses among the conversations with the agent that have a key, such as those of terminals. */
function SessionChoice({ id, chosen }: { id: string; chosen: string | undefined }) {
  const sessions = useQuery(`sessions ${id}`, {
    ask: () => api.sessions.list({ agent_id: id, status: 'running' }),
    on: ofKinds('session_', 'task_started'),
  })
  const others = (sessions.data ?? []).filter(
    ({ session_id, session_key }) => session_id === chosen || (session_key !== null && session_key !== keyOf(id)),
  )
  if (others.length === 0) return null
  return (
    <Pick label="Session" value={chosen ?? ''} onPick={session => refine({ session: session || undefined })}>
      <option value="">dashboard</option>
      {others.map(({ session_id, session_key, task }) => (
        <option key={session_id} value={session_id}>
          {visible(`${session_key ?? session_id}: ${task.slice(0, SUBJECT_CHARS)}`)}
        </option>
      ))}
    </Pick>
  )
}

/** Returns the newest tasks of this tenant in a session, by default the dashboard's own with an agent, oldest first. */
async function tasksOf(id: string, chosen?: string): Promise<readonly Task[]> {
  const [own] = chosen ? [] : await api.sessions.list({ agent_id: id, session_key: keyOf(id), status: 'running' })
  const session_id = chosen ?? own?.session_id
  return session_id ? (await api.tasks.list({ id, session_id, limit: SHOWN })).toReversed() : []
}

/** Makes a random key: pages loaded over plain HTTP from another machine have no `randomUUID`. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')
}
