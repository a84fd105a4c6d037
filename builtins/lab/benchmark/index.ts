import { definePlugin } from '#kernel'
import { benchmarkOf } from './benchmark.ts'
import { Benchmark, Scenarios } from './contract.ts'
import { WORK_GOALS } from './goals/index.ts'
import { benchmarkOperations } from './operations.ts'
import { BUILT_IN } from './scenarios/index.ts'

export default definePlugin({
  name: 'benchmark',
  description: 'Benchmarks models on scenarios, with error bars.',
  needs: ['models', 'trials'],
  setup(svc) {
    svc.provide(Benchmark, benchmarkOf(svc))
  },
  base(svc) {
    for (const scenario of [...BUILT_IN, ...WORK_GOALS]) svc.add(Scenarios, scenario)
    for (const operation of benchmarkOperations) svc.operation(operation)
  },
})
