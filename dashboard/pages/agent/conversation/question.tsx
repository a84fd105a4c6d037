import { useState } from 'preact/hooks'
import { useAction } from '../../../api/action.ts'
import { api } from '../../../api/client.ts'
import { useQuestions } from '../../../api/waiting.ts'
import { Trouble } from '../../../ui/states.tsx'
import { Words } from '../../../ui/text/conversation.tsx'
import { visible } from '../../../ui/text/format.ts'
import { When } from '../../../ui/time.tsx'
import type { Question } from '../../../ui/types.ts'

/** Questions of the agent, each with a form for the answer. */
export function Questions({ id, onAnswered }: { id: string; onAnswered: () => Promise<void> }) {
  const questions = useQuestions()
  const own = questions.data?.filter(({ agent_id }) => agent_id === id) ?? []
  const onAnswer = () => void Promise.all([questions.reload(), onAnswered()])
  if (own.length === 0) return null
  return (
    <ul class="stack plain">
      {own.map(question => (
        <AnswerForm key={question.question_id} question={question} onAnswered={onAnswer} />
      ))}
    </ul>
  )
}

function AnswerForm({ question: given, onAnswered }: { question: Question; onAnswered: () => void }) {
  const { question_id, question, options, free_text, asked_at, default: otherwise, default_at } = given
  const [text, setText] = useState('')
  const send = useAction(async (answer: string) => {
    await api.questions.answer({ question_id, answer })
    onAnswered()
  }, 'Answer sent. The agent continues.')
  return (
    <li class="card request">
      <header>
        <h2>Question</h2>
        <span class="soft">
          asked <When at={asked_at} />
        </span>
        <span class="aside soft">{question_id}</span>
      </header>
      <Words text={question} open markdown />
      {otherwise !== null && (
        <p class="hint">
          Without an answer, the agent continues with “{visible(otherwise)}” <When at={default_at} ahead />.
        </p>
      )}
      {options.length > 0 && (
        <div class="row">
          {options.map(option => (
            <button key={option} type="button" disabled={send.running} onClick={() => void send.run(option)}>
              {visible(option)}
            </button>
          ))}
        </div>
      )}
      {free_text && (
        <form
          class="stack"
          onSubmit={event => {
            event.preventDefault()
            void send.run(text)
          }}
        >
          <label>
            Your answer
            <textarea
              rows={2}
              maxLength={4000}
              required
              value={text}
              onInput={event => setText(event.currentTarget.value)}
            />
          </label>
          <div class="row">
            <button type="submit" class="primary" disabled={send.running || text.trim() === ''}>
              Answer
            </button>
          </div>
        </form>
      )}
      <Trouble fault={send.fault} />
    </li>
  )
}
