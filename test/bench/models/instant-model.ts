import { type ModelAnswer, type ModelCall, Models, recordedQuestion } from '#core/models/contract'
import { definePlugin } from '#kernel'
import { recordInput } from '#lib/recording-context'

const SPENT = {
  model: 'instant:1',
  cost_micros: 10,
  input_tokens: 100,
  output_tokens: 10,
  priced: 'free',
  estimated: false,
  attempts: 1,
  duration_ms: 0,
} as const

/** Answers at once and in-process: a goal when asked for one, then one tool call, then the end. */
export const instantModel = definePlugin({
  name: 'models',
  setup(svc) {
    let calls = 0
    const answer = (call: ModelCall): Pick<ModelAnswer, 'text' | 'tool_calls'> => {
      const { kind, agent_id, cycle_num } = call.purpose
      if (kind === 'goal_generation') {
        return {
          text: JSON.stringify({
            goal: `Note ${cycle_num} ${cycle_num * 3} ${cycle_num * 7}: ${agent_id}`,
            reasoning: 'it is due',
          }),
          tool_calls: [],
        }
      }
      const id = `call-${calls}`
      const last = call.messages.at(-1)
      if (last?.role === 'tool') {
        return { text: '', tool_calls: [{ id, name: 'finish_goal', arguments: '{"summary":"noted"}' }] }
      }
      return { text: '', tool_calls: [{ id, name: 'note', arguments: '{"text":"a note"}' }] }
    }
    const answerCall = async (call: ModelCall): Promise<ModelAnswer> => {
      const call_id = `model-${++calls}`
      const { text, tool_calls } = answer(call)
      return { text, tool_calls, finish_reason: 'stop', spend: { call_id, ...SPENT } }
    }
    svc.provide(Models, {
      resolve: () => Promise.reject(new Error('there is only one model here')),
      describe: () => Promise.reject(new Error('there is only one model here')),
      inUse: async () => [],
      call: call =>
        recordInput(
          'model',
          () => answerCall(call),
          () => recordedQuestion(call),
        ),
    })
  },
})
