import { oneLine } from '#lib/sanitize'
import type { Question } from './contract.ts'

export function renderQuestions(questions: readonly Question[]): string {
  return questions.map(renderQuestion).join('\n') || 'no questions'
}

export function renderQuestion(asked: Question): string {
  const { question_id, agent_id, asked_at, question, options, default: otherwise, default_at, status } = asked
  const lines = [
    `${question_id}  ${agent_id}  asked ${asked_at}${status === 'open' ? '' : `  ${status}`}`,
    indentText(question),
    ...options.map((option, n) => `    ${n + 1}. ${oneLine(option)}`),
    asked.answer !== null && `  answer, by ${asked.answered_by ?? 'default'}: ${oneLine(asked.answer)}`,
    status === 'open' && otherwise !== null && `  default, unless answered by ${default_at}: ${oneLine(otherwise)}`,
    status === 'open' && `  svc answer ${question_id} ${options.length > 0 ? '<number or text>' : '<text>'}`,
  ]
  return lines.filter(Boolean).join('\n')
}

function indentText(text: string): string {
  return `  ${text.replaceAll('\n', '\n  ')}`
}
