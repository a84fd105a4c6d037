import { idAndName } from '#lib/id-and-name'
import { oneLine } from '#lib/sanitize'
import type { Question } from './contract.ts'

export function renderQuestions(questions: readonly Question[]): string {
  return questions.map(renderQuestion).join('\n') || 'no questions'
}

export function renderQuestion(item: Question): string {
  const {
    question_id,
    agent_id,
    agent_name: name,
    asked_at,
    question,
    options,
    default: otherwise,
    default_at,
    status,
  } = item
  const lines = [
    `${question_id}  ${idAndName({ agent_id, name })}  asked ${asked_at}${status === 'open' ? '' : `  ${status}`}`,
    indentText(question),
    ...options.map((option, n) => `    ${n + 1}. ${oneLine(option)}`),
    item.answer !== null && `  answer, by ${item.answered_by ?? 'default'}: ${oneLine(item.answer)}`,
    status === 'open' && otherwise !== null && `  default, unless answered by ${default_at}: ${oneLine(otherwise)}`,
    status === 'open' && `  svc answer ${question_id} ${options.length > 0 ? '<number or text>' : '<text>'}`,
  ]
  return lines.filter(Boolean).join('\n')
}

function indentText(text: string): string {
  return `  ${text.replaceAll('\n', '\n  ')}`
}
