import rest from '#interfaces/rest/index'
import type { Question } from '#safety/questions/contract'
import questions from '#safety/questions/index'
import { listen } from '../../interfaces/rest/rest-server.ts'
import { type ModelServer, type TestHostOptions, toolCall, until, waitUntilIdle } from '../../support/index.ts'
import { asksForGoal, spawn, testHostWithModel } from '../core/models/model-host.ts'
import { results, type Step, steps } from './approvals-host.ts'

export const ask = (question: string, more: Record<string, unknown> = {}) =>
  toolCall('ask_operator', { question, ...more })

/** Returns the tool results in the last request of a pursuit. */
export const shown = ({ server }: { server: ModelServer }) =>
  results({ requests: server.requests.filter(request => !asksForGoal(request)) })

/** Creates a host with the HTTP API whose agent asks questions. */
export async function asking(list: Step[], options: TestHostOptions = {}) {
  const home = await testHostWithModel(steps(...list), {
    ...options,
    builtins: [questions, rest, ...(options.builtins ?? [])],
  })
  const { send: request } = await listen(home.kernel)
  const open = async () => (await request('/questions')).json as Question[]
  /** Waits until a question is open and the agent is idle. */
  const asked = async (): Promise<Question> => {
    await until(async () => (await open()).length > 0)
    await waitUntilIdle(home)
    return (await open())[0]!
  }
  const answer = async (question_id: string, text: string, headers?: Record<string, string>) => {
    const answered = await request(`/questions/${question_id}/answer`, { answer: text }, headers)
    await home.clock.advance(1_000)
    return answered
  }
  const begin = async () => {
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    return id
  }
  return Object.assign(home, { request, asked, answer, begin, open })
}
