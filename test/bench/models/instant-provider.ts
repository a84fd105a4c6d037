import { type ModelEvent, ModelProviders } from '#core/models/contract'
import { definePlugin } from '#kernel'
import { strictModel } from '../../support/model/strict-model.ts'

/** Creates the provider `instant`, which answers `Done.` in this process after a delay and counts its requests. */
export function instantProvider(delay_ms = 0) {
  const asked = { calls: 0 }
  const plugin = definePlugin({
    name: 'instant-provider',
    setup(svc) {
      const provider = strictModel({
        name: 'instant',
        free: true,
        tool_calls: 'native',
        availability: async () => ({ available: true, reason: null }),
        defaultModel: async () => '1',
        async *stream(): AsyncGenerator<ModelEvent> {
          asked.calls++
          if (delay_ms > 0) await new Promise(resolve => setTimeout(resolve, delay_ms))
          yield { type: 'text', text: 'Done.' }
          yield { type: 'usage', usage: { input_tokens: 100, output_tokens: 2 } }
          yield { type: 'done', finish_reason: 'stop' }
        },
      })
      svc.add(ModelProviders, provider)
    },
  })
  return { asked, plugin }
}
