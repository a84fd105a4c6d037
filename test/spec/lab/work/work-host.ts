import { spawnSync } from 'node:child_process'
import type { Outcome } from '#lab/benchmark/checks'
import { Benchmark, type BenchmarkReport, type Scenario } from '#lab/benchmark/contract'
import { BUILTINS } from '../../../../builtins/index.ts'
import { type ModelServer, modelServer, type TestHost, tempDir, testHost } from '../../../support/index.ts'
import { FallibleModels } from './fallible-model.ts'

/** A project with fallible models, behind a server that rejects what real providers reject. */
export interface WorkHost extends AsyncDisposable {
  models: FallibleModels
  server: ModelServer
  run(models: readonly string[], chosen: { goals?: string[]; categories?: string[] }): Promise<BenchmarkReport>
}

export async function workHost(seed: number, progress: (line: string) => void = () => {}): Promise<WorkHost> {
  const models = new FallibleModels(seed)
  const server = await modelServer({ script: request => models.answer(request) })
  const host: TestHost = await testHost({
    builtins: BUILTINS,
    roles: ['cli'],
    clock: 'system',
    seed,
    config: { model: { retry_delay: 0 }, daemon: { max_retries: 0 } },
    env: { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'test-key', OPENAI_MODEL: 'careful' },
  })
  const signal = new AbortController().signal
  return {
    models,
    server,
    run: (names, chosen) =>
      host.kernel
        .use(Benchmark)
        .run({ models: names.map(name => `openai:${name}`), seed, signal, progress, ...chosen }),
    async [Symbol.asyncDispose]() {
      await host.close()
      await server.close()
    },
  }
}

/** Returns the runs that neither passed nor were given up. */
export function dishonest({ models }: BenchmarkReport) {
  return models.flatMap(({ asked, scenarios }) =>
    scenarios.flatMap(({ name, results }) =>
      results
        .filter(({ passed, failure }) => !passed && failure !== 'gave_up')
        .map(({ failure, detail, checks }) => ({ asked, name, failure, detail, checks })),
    ),
  )
}

/** Returns the outcome of a scenario in which no agent has worked. */
export function untouched({ files }: Scenario): Outcome {
  const given = typeof files === 'function' ? files() : files
  const run = async (command: string, more: Readonly<Record<string, string>>) => {
    await using dir = await tempDir()
    await dir.write(given)
    await dir.write(Object.fromEntries(Object.entries(more).map(([path, text]) => [`check/${path}`, text])))
    const { status } = spawnSync(command.replaceAll('{check}', 'check'), { cwd: dir.path, shell: true })
    return { code: status, text: '' }
  }
  return { answer: '', parsed: null, called: [], file: async path => given[path], run }
}
