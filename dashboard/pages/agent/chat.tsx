import { useEffect, useRef, useState } from 'preact/hooks'
import { api, type Fault, faultOf } from '../../api/client.ts'
import { to } from '../../routes.ts'
import { Card } from '../../ui/card.tsx'
import { Said, type SaidMessage, Words } from '../../ui/said.tsx'
import { Trouble } from '../../ui/states.tsx'
import { dollars } from '../../ui/words.ts'
import type { ViewProps } from './index.tsx'

const KEY = 'dashboard'

/** One-shot tasks in one session of this agent: the answer comes as it is written. */
export function Chat({ agent: { agent_id: id, status } }: ViewProps) {
  const [said, setSaid] = useState<readonly SaidMessage[]>([])
  const [text, setText] = useState<string | undefined>(undefined)
  const [info, setInfo] = useState('')
  const [cost, setCost] = useState('')
  const [fault, setFault] = useState<Fault | undefined>(undefined)
  const running = useRef<AbortController | undefined>(undefined)
  useEffect(() => () => running.current?.abort(), [])

  const ask = async (instruction: string) => {
    const control = new AbortController()
    running.current = control
    setFault(undefined)
    setInfo('')
    setSaid(before => [...before, { role: 'user', content: instruction }])
    setText('')
    let answer = ''
    try {
      const call = { signal: control.signal, idempotencyKey: crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}` }
      for await (const { event, data } of api.tasks.stream({ id, instruction, session_key: KEY }, call)) {
        if (event === 'token') {
          answer += data.text
          setText(answer)
        } else if (event === 'info') setInfo(data.message)
        else if (event === 'done') {
          answer = data.output ?? answer
          setCost(dollars(data.cost_usd))
          if (data.status === 'waiting_approval')
            setInfo('A tool call waits for your approval; the task goes on when you decide.')
          else if (data.error) setFault(faultOf({ ...data.error, message: data.error.detail }))
        }
      }
    } catch (error) {
      if (!control.signal.aborted) setFault(faultOf(error))
    } finally {
      if (answer) setSaid(before => [...before, { role: 'assistant', content: answer }])
      setText(undefined)
      running.current = undefined
    }
  }

  return (
    <Card title="Chat" aside={<a href={to('sessions')}>Sessions</a>}>
      <div class="stack">
        {said.length === 0 && text === undefined && (
          <p class="soft">
            Have it do one thing now. It keeps what was said before in this session; its own goals go on.
          </p>
        )}
        <Said messages={said} />
        {text !== undefined && (
          <div class="answering" aria-live="polite">
            {text ? <Words text={text} /> : <span class="soft">{info || 'It thinks…'}</span>}
          </div>
        )}
        {text === undefined && info && <p class="soft">{info}</p>}
        <Trouble fault={fault} />
        <Ask
          busy={text !== undefined}
          dead={status === 'dead'}
          onAsk={instruction => void ask(instruction)}
          onStop={() => running.current?.abort()}
        />
        {cost && <small>The last answer cost {cost}.</small>}
      </div>
    </Card>
  )
}

interface AskProps {
  busy: boolean
  dead: boolean
  onAsk: (instruction: string) => void
  onStop: () => void
}

function Ask({ busy, dead, onAsk, onStop }: AskProps) {
  const form = useRef<HTMLFormElement>(null)
  return (
    <form
      ref={form}
      class="row ask"
      onSubmit={event => {
        event.preventDefault()
        const instruction = String(new FormData(event.currentTarget).get('instruction')).trim()
        if (!instruction || busy) return
        onAsk(instruction)
        event.currentTarget.reset()
      }}
    >
      <textarea
        name="instruction"
        aria-label="What it should do"
        rows={2}
        required
        disabled={dead}
        placeholder="What should it do? Enter sends, Shift+Enter breaks the line."
        onKeyDown={event => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
          event.preventDefault()
          form.current?.requestSubmit()
        }}
      />
      {busy ? (
        <button type="button" onClick={onStop}>
          Stop
        </button>
      ) : (
        <button type="submit" class="primary" disabled={dead}>
          Send
        </button>
      )}
    </form>
  )
}
