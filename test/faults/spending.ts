import { onTestFinished } from 'vitest'
import type { BudgetStatus } from '#safety/budget/contract'
import { project } from '../cli/project.ts'
import { type ModelServer, modelServer, type TempDir, text, toolCall } from '../support/index.ts'
import { svc } from '../support/vitest/warm.ts'

/** Script of agents that always find something to do, and never the same. */
function busyModel() {
  let n = 0
  return async ({ prompt }: { prompt: string }) => {
    n++
    // Delays answers, so that a kill hits some calls in progress.
    await new Promise(resolve => setTimeout(resolve, 5 + (n % 7) * 10))
    if (prompt.includes('"goal":'))
      return text(JSON.stringify({ goal: `Do ${n} and ${n * 7} and ${n * 13} of number ${n}` }))
    if (n % 3 > 0) return toolCall('file_write', { path: `${n}.txt`, content: String(n) })
    return toolCall('finish_goal', { summary: `did ${n}`, evidence: [] })
  }
}

/** Creates a project whose agents spend all the time, and the model that they call. */
export async function spending(daemon: string) {
  const server = await modelServer({ script: busyModel() })
  onTestFinished(() => server.close())
  const config = `daemon:\n  heartbeat: 0.1\n  min_rest: 0\n${daemon}\n`
  const profile = 'name: worker\nrole: works\nmax_tokens: 300\n'
  const dir = await project({ '.svc/config.yaml': config, 'profiles/worker.yaml': profile })
  onTestFinished(() => dir[Symbol.asyncDispose]())
  return { server, dir, options: { cwd: dir.path, env: envOf(server) } }
}

export const envOf = (server: ModelServer) => ({
  OPENAI_BASE_URL: server.url,
  OPENAI_API_KEY: 'test-key',
  OPENAI_MODEL: 'm',
})

export async function budgetOf(dir: TempDir, ...words: string[]): Promise<BudgetStatus> {
  const { stdout } = await svc(['budget', ...words, '--json'], { cwd: dir.path })
  return JSON.parse(stdout)
}

export const tokensCharged = ({ bill }: ModelServer) =>
  bill.reduce((sum, { input_tokens, output_tokens }) => sum + input_tokens + output_tokens, 0)
