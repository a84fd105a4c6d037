import { InvalidInputError, operation, z } from '#kernel'
import { Benchmark, BenchmarkReport } from './contract.ts'

export const benchmarkScenarios = operation({
  name: 'benchmark.scenarios',
  summary: 'List benchmark scenarios',
  input: z.object({}),
  output: z.array(
    z.object({
      name: z.string(),
      title: z.string(),
      measures: z.string(),
      mode: z.string(),
      variants: z.number(),
      category: z.string(),
    }),
  ),
  cli: { usage: 'benchmark scenarios' },
  run: (_, { svc }) =>
    svc
      .use(Benchmark)
      .scenarios()
      .map(({ name, title, measures, mode, variants, category }) => {
        return { name, title, measures, mode, variants: variants.length, category }
      }),
})

export const benchmarkRun = operation({
  name: 'benchmark.run',
  summary: 'Benchmark models',
  description: 'Runs scenarios or work goals with each model in temporary projects and returns a report.',
  input: z.object({
    models: z
      .array(z.string().trim().min(1).max(200))
      .describe('Models, each as provider:model or provider:lite|standard|pro'),
    cycles: z.number().optional(),
    runs: z.number().optional(),
    seed: z.number().optional(),
    scenarios: z.array(z.string()).optional(),
    goals: z.array(z.string()).optional().describe('Names of work goals, or all'),
    categories: z.array(z.string()).optional().describe('Categories of work goals'),
    profile: z.string().optional().describe('Preset for the work goals, in place of the preset of each goal'),
    task: z.string().trim().min(1).max(4000).optional(),
  }),
  output: BenchmarkReport,
  errors: [InvalidInputError],
  run: (input, { svc, signal, progress }) => svc.use(Benchmark).run({ ...input, signal, progress }),
})

export const benchmarkOperations = [benchmarkScenarios, benchmarkRun]
