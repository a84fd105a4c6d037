// A model provider: another source of answers, named `parrot:<model>` in profiles and in `svc spawn --model`.
// This one repeats its input, which is enough to show how text, tool calls and usage are streamed. One that asks a server
// throws a ModelError when the server refuses; its `kind`, `transient` and `retryAfter` decide on retries.
import { definePlugin, type ModelEvent, ModelProviders, type ModelRequest } from 'svc'

export default definePlugin({
  name: 'parrot',
  description: 'A model that repeats its input.',
  setup(svc) {
    svc.add(ModelProviders, {
      name: 'parrot',
      free: true,
      notice: 'repeats its input',
      availability: async () => ({ available: true, reason: null }),
      defaultModel: async () => 'grey',
      async *stream(request, signal): AsyncGenerator<ModelEvent> {
        signal.throwIfAborted()
        const text = answerTo(request)
        const done = request.tools.find(tool => tool.name === 'finish_goal')
        if (done) {
          const args = JSON.stringify({ summary: `I repeated: ${text}`, evidence: [] })
          yield { type: 'tool_call', id: svc.ports.ids.make('call', 8), name: done.name, arguments: args }
        } else {
          yield { type: 'text', text }
        }
        yield { type: 'usage', usage: { input_tokens: tokensOf(request), output_tokens: Math.ceil(text.length / 4) } }
        yield { type: 'done', finish_reason: done ? 'tool_calls' : 'stop' }
      },
    })
  },
})

function answerTo({ messages, purpose }: ModelRequest): string {
  if (purpose.kind === 'goal_generation') return JSON.stringify({ goal: 'Repeat what was said last' })
  return messages.at(-1)?.content ?? ''
}

function tokensOf({ messages }: ModelRequest): number {
  return Math.ceil(messages.reduce((sum, { content }) => sum + content.length, 0) / 4)
}
