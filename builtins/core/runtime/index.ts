import { Images } from '#core/images/contract'
import { Models } from '#core/models/contract'
import { ToolNames } from '#core/profiles/contract'
import { definePlugin } from '#kernel'
import { RuntimeConfig } from './config.ts'
import { Runtime, Schemas } from './contract.ts'
import { interceptedTools } from './intercepted.ts'
import { runLoop } from './loop/loop.ts'
import { unknownNames } from './names.ts'
import { runtimeOperations } from './operations.ts'
import { schemas } from './schemas.ts'
import { SummaryWriter } from './summaries.ts'
import { ToolSets, toolSets } from './tools.ts'

export default definePlugin({
  name: 'runtime',
  description: 'The ReAct loop: calls the model, runs its tool calls, and repeats until the work is done.',
  needs: ['models'],
  section: 'daemon',
  config: RuntimeConfig,
  setup(svc, config) {
    const toolsFor = toolSets(svc, config)
    svc.provide(ToolSets, toolsFor)
    for (const operation of runtimeOperations) svc.operation(operation)
    svc.provide(Schemas, schemas)
    const summaries = new SummaryWriter(svc)
    const names = { unknownNames: unknownNames(svc) }
    svc.provide(ToolNames, names)
    svc.provide(Runtime, {
      run: request =>
        runLoop(request, {
          clock: svc.clock,
          log: svc.log,
          images: svc.has(Images) ? svc.use(Images) : undefined,
          callModel: call => svc.use(Models).call(call),
        }),
      summarize: (call, wanted) => summaries.summarize(call, wanted),
      toolsFor: (profile, toolkits) => interceptedTools(svc, toolsFor(profile, toolkits)),
      ...names,
    })
  },
})
