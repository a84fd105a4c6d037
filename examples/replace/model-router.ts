// A model router: rules choose the model of each call, whatever model its agent asks for. It replaces the module
// `models`, whose providers, prices, limits and routes stay; the calls themselves go to that module's `ModelCaller`.
import { definePlugin, z } from 'svc'
import { type ModelCall, ModelCaller, type Models } from 'svc/models'

const Rule = z.object({
  model: z.string().describe('Model to call, such as openai:lite'),
  kind: z.string().optional().describe('Only calls of this kind, such as goal_generation'),
  min_chars: z.number().optional().describe('Only calls whose messages have this number of characters or more'),
})

export default definePlugin({
  name: 'model-router',
  description: 'Chooses the model of each call by rules.',
  replaces: 'models',
  config: z.object({
    rules: z
      .array(Rule)
      .default([])
      .meta({ reload: 'applied' })
      .describe('Rules; the first one that matches a call is used'),
  }),
  setup(svc, config) {
    const caller = () => svc.use(ModelCaller)
    const routed = <C extends Pick<ModelCall, 'model' | 'messages' | 'purpose'>>(call: C): C => {
      const chars = call.messages.reduce((sum, { content }) => sum + content.length, 0)
      const rule = config.rules.find(
        ({ kind, min_chars = 0 }) => (kind === undefined || kind === call.purpose.kind) && chars >= min_chars,
      )
      return rule ? { ...call, model: rule.model } : call
    }
    const models: Models = {
      call: call => caller().call(routed(call)),
      measure: async call => caller().measure!(routed(call)),
      resolve: name => caller().resolve(name),
      describe: name => caller().describe(name),
      inUse: () => caller().inUse(),
      get summaries() {
        return caller().summaries!
      },
    }
    return { models }
  },
})
