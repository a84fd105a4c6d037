import { InvalidInputError, operation, type PluginHandle, z } from '#kernel'
import { type Benchmark, BenchmarkReport } from './contract.ts'

export function benchmarkOperations(_: PluginHandle, benchmark: Benchmark) {
  return [
    operation({
      name: 'benchmark.scenarios',
      summary: 'List benchmark scenarios',
      input: z.object({}),
      output: z.array(
        z.object({ name: z.string(), title: z.string(), measures: z.string(), mode: z.string(), variants: z.number() }),
      ),
      cli: { usage: 'benchmark scenarios' },
      run: () =>
        benchmark.scenarios().map(({ name, title, measures, mode, variants }) => {
          return { name, title, measures, mode, variants: variants.length }
        }),
    }),
    operation({
      name: 'benchmark.run',
      summary: 'Benchmark models',
      description: 'Runs scenarios in temporary projects.',
      input: z.object({
        models: z.array(z.string().trim().min(1).max(200)).describe('provider:model or provider:lite|standard|pro'),
        cycles: z.number().optional(),
        runs: z.number().optional(),
        seed: z.number().optional(),
        scenarios: z.array(z.string()).optional(),
        task: z.string().trim().min(1).max(4000).optional(),
      }),
      output: BenchmarkReport,
      errors: [InvalidInputError],
      run: (input, { signal, progress }) => benchmark.run({ ...input, signal, progress }),
    }),
  ]
}
