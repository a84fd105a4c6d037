import { mkdir, writeFile } from 'node:fs/promises'
import { onTestFinished } from 'vitest'
import { startRestServer } from '../../../interfaces/rest/rest-server.ts'
import { modelServer, type Script } from '../../../support/index.ts'
import { AGENT_MODULES, WORKER } from '../models/model-host.ts'
import { TASK_MODULES } from './tasks-host.ts'

/** Starts a listening server with one agent, whose model is scripted. @param files of its project, by their paths */
export async function startTaskServer(script: Script, files: Record<string, string> = {}) {
  const model = await modelServer({ script })
  onTestFinished(() => model.close())
  const home = await startRestServer({
    plugins: [...AGENT_MODULES, ...TASK_MODULES],
    env: { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'k', OPENAI_MODEL: 'scripted' },
    yaml: 'model: { idle_timeout: 90, retry_delay: 0 }\n',
    async before(root) {
      await mkdir(`${root}/profiles`)
      for (const [path, content] of Object.entries({ 'profiles/worker.yaml': WORKER, ...files })) {
        await writeFile(`${root}/${path}`, content)
      }
    },
  })
  const { json } = await home.ask('/agents', { method: 'POST', body: { preset: 'worker' } })
  const id = json.agent_id as string
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    home.ask(path, { method: 'POST', body, headers })
  return { ...home, model, id, post }
}
