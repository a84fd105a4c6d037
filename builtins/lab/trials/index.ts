import { definePlugin } from '#kernel'
import { Trials } from './contract.ts'
import { openTrial } from './trial.ts'

export default definePlugin({
  name: 'trials',
  description: 'Temporary projects in which benchmarks and demos run.',
  needs: ['models'],
  setup(svc) {
    svc.provide(Trials, { open: options => openTrial(svc, options) })
  },
})
