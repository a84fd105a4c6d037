import { useRef, useState } from 'preact/hooks'
import { useAction } from '../../../api/action.ts'
import { api } from '../../../api/client.ts'
import { never, useQuery } from '../../../api/query.ts'
import { useQuestions } from '../../../api/waiting.ts'
import { Loaded, Trouble, Unsent } from '../../../ui/states.tsx'
import { Status } from '../../../ui/status.tsx'
import { Words } from '../../../ui/text/conversation.tsx'
import { visible } from '../../../ui/text/format.ts'
import { When } from '../../../ui/time.tsx'
import type { Question } from '../../../ui/types.ts'
import { deciderOf } from '../../approvals/decide.ts'

/**
 * Questions of the agent, each with a form for the answer. One that is closed elsewhere while it is shown keeps its
 * place, with its outcome and what the reader typed.
 */
export function Questions({ id, onAnswered }: { id: string; onAnswered: () => Promise<void> }) {
  const questions = useQuestions()
  const own = questions.data?.filter(({ agent_id }) => agent_id === id) ?? []
  const shown = useRef(new Map<string, Question>())
  const answered = useRef(new Set<string>())
  for (const question of own) shown.current.set(question.question_id, question)
  const onAnswer = (question_id: string) => {
    answered.current.add(question_id)
    void Promise.all([questions.reload(), onAnswered()])
  }
  const cards = [...shown.current.values()].map(question => ({ question, isOpen: own.includes(question) }))
  const kept = cards.filter(({ question, isOpen }) => isOpen || !answered.current.has(question.question_id))
  if (kept.length === 0) return null
  return (
    <ul class="stack plain">
      {kept.map(({ question, isOpen }) => (
        <QuestionCard
          key={question.question_id}
          question={question}
          isOpen={isOpen}
          onAnswered={() => onAnswer(question.question_id)}
        />
      ))}
    </ul>
  )
}

interface CardProps {
  question: Question
  isOpen: boolean
  onAnswered: () => void
}

function QuestionCard({ question: { question_id, question, asked_at, ...given }, isOpen, onAnswered }: CardProps) {
  const [text, setText] = useState('')
  return (
    <li class={isOpen ? 'card request' : 'card request is-decided'}>
      <header>
        <h2>Question</h2>
        <span class="soft">
          asked <When at={asked_at} />
        </span>
        <span class="aside soft">{question_id}</span>
      </header>
      <Words text={question} open markdown />
      {isOpen ? (
        <AnswerForm {...given} question_id={question_id} text={text} onText={setText} onAnswered={onAnswered} />
      ) : (
        <Outcome question_id={question_id} unsent={text} />
      )}
    </li>
  )
}

/** How a question was closed elsewhere, and the answer that the reader typed but did not send. */
function Outcome({ question_id, unsent }: { question_id: string; unsent: string }) {
  const query = useQuery(`question ${question_id}`, { ask: () => api.questions.get({ question_id }), on: never })
  return (
    <div class="outcome" role="status">
      <Loaded query={query}>
        {({ status, answer, answered_by, answered_at }) => (
          <p>
            <Status of={status} /> {answered_at && <When at={answered_at} />}
            {status === 'answered' && (answered_by ? ` by ${visible(deciderOf(answered_by))}` : ' with its default')}
            {answer !== null && <>: {visible(answer)}</>}
          </p>
        )}
      </Loaded>
      <Unsent text={unsent} />
    </div>
  )
}

type AnswerFormProps = Omit<Question, 'question' | 'asked_at'> & {
  text: string
  onText: (text: string) => void
  onAnswered: () => void
}

function AnswerForm({ text, onText, onAnswered, ...given }: AnswerFormProps) {
  const { question_id, options, free_text, default: otherwise, default_at } = given
  const send = useAction(async (answer: string) => {
    await api.questions.answer({ question_id, answer })
    onAnswered()
  }, 'Answer sent. The agent continues.')
  return (
    <>
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
              onInput={event => onText(event.currentTarget.value)}
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
    </>
  )
}
