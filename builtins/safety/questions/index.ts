import { definePlugin, errorMessage, type PluginHandle } from '#kernel'
import { eachRound } from '#lib/poller'
import { addRetentionRule } from '#platform/retention/contract'
import { Effects, Store } from '#platform/store/contract'
import { QuestionAnswered, QuestionAsked, Questions } from './contract.ts'
import { questionOperations } from './operations.ts'
import { answerTask, applyDefaults, ask, gate } from './questions.ts'
import { answerQuestion, beginAskingCall, insertQuestion, parkAskingCall, questionsOfTask } from './repository.ts'
import { questionsToolkit } from './toolkit.ts'

/**
 * Interval at which a server checks for overdue questions, in milliseconds. Defaults apply also when no daemon runs.
 */
const LOOK_MS = 5_000

export default definePlugin({
  name: 'questions',
  description: 'Questions of agents to the operator, answered once, by a person or by a stated default.',
  needs: ['store', 'agents'],
  setup(svc) {
    for (const effect of [insertQuestion, parkAskingCall, beginAskingCall, answerQuestion])
      svc.add(Effects, effect.kind)
    svc.provide(Questions, {
      gate: call => gate(svc, call),
      ask: question => ask(svc, question),
      ofTask: task_id => questionsOfTask(svc.use(Store), task_id),
      answerTask: (task_id, answer) => answerTask(svc, task_id, answer),
    })
    for (const operation of questionOperations) svc.operation(operation)
    svc.toolkit(questionsToolkit(svc))
    svc.event('question_asked', QuestionAsked)
    svc.event('question_answered', QuestionAnswered)
    addRetentionRule(svc, {
      name: 'questions',
      key: 'question_id',
      where: `coalesce(answered_at, asked_at) < ? AND NOT EXISTS
        (SELECT 1 FROM goals_view g WHERE g.goal_id = questions.goal_id AND g.status = 'active') AND NOT EXISTS
        (SELECT 1 FROM task_runs_view t WHERE t.task_id = questions.task_id AND t.ended_at IS NULL)`,
    })
    svc.on('beat', () => applyDefaults(svc))
    svc.start(() => applyNowAndThen(svc), { in: ['server'] })
  },
})

function applyNowAndThen(svc: PluginHandle) {
  return eachRound(svc.clock, LOOK_MS, () =>
    applyDefaults(svc).catch(error => svc.log.warn({}, `cannot apply defaults of questions: ${errorMessage(error)}`)),
  )
}
