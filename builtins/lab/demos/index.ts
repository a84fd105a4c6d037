import { definePlugin } from '#kernel'
import { BUILT_IN } from './cases/index.ts'
import { Demos, DemoTheatre, DetectiveCases } from './contract.ts'
import { detective } from './detective.ts'
import { demoRunner } from './runner.ts'
import { survival } from './survival.ts'

export default definePlugin({
  name: 'demos',
  description: 'Demos with agents, each in a separate project, with a report.',
  needs: ['models', 'trials'],
  setup(svc) {
    svc.provide(DemoTheatre, demoRunner(svc))
    svc.add(Demos, survival(svc))
    svc.add(Demos, detective(svc))
    for (const each of BUILT_IN) svc.add(DetectiveCases, each)
  },
})
