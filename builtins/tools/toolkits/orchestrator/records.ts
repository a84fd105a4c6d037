import { join } from 'node:path'
import { type PluginHandle, z } from '#kernel'
import { unlessMissing } from '#lib/unless-code'
import { replaceFile } from '#lib/yaml'
import { PROGRAMS } from './programs.ts'

export const CodeTask = z.object({
  v: z.literal(1),
  task_id: z.string(),
  agent_id: z.string(),
  program: z.enum(PROGRAMS),
  model: z.string().nullable(),
  task: z.string(),
  folder: z.string(),
  status: z.enum(['running', 'completed', 'failed', 'timeout', 'lost']),
  /** Reason of a failure that no exit code explains. */
  reason: z.string().nullable(),
  started_at: z.int(),
  ended_at: z.int().nullable(),
  /** Process id of the service process that runs the task. */
  watched_by: z.int(),
})
export type CodeTask = z.infer<typeof CodeTask>

/** Records of the coding programs' tasks for an agent, in files of its journal, which outlive the running process. */
export class Records {
  readonly #svc: PluginHandle

  constructor(svc: PluginHandle) {
    this.#svc = svc
  }

  async write(record: CodeTask, output?: string): Promise<void> {
    const { files } = this.#svc.ports
    const folder = this.#folder(record.agent_id)
    await files.mkdir(folder, { recursive: true, mode: 0o700 })
    if (output !== undefined) await files.writeFile(join(folder, `${record.task_id}.txt`), output, { mode: 0o600 })
    const text = `${JSON.stringify(record, undefined, 2)}\n`
    await replaceFile(files, join(folder, `${record.task_id}.json`), text)
  }

  /** Returns the records, newest first. */
  async list(agent_id: string): Promise<CodeTask[]> {
    const names = await this.#svc.ports.files.readdir(this.#folder(agent_id)).catch(() => [])
    const ids = names.flatMap(name => /^(code-\w+)\.json$/.exec(name)?.[1] ?? [])
    const records = await Promise.all(ids.map(id => this.read(agent_id, id)))
    return records.filter(record => record !== undefined).sort((a, b) => b.started_at - a.started_at)
  }

  async read(agent_id: string, task_id: string): Promise<CodeTask | undefined> {
    if (!/^code-\w{1,64}$/.test(task_id)) return undefined
    const text = await this.#text(join(this.#folder(agent_id), `${task_id}.json`))
    if (text === undefined) return undefined
    const record = CodeTask.safeParse(JSON.parse(text))
    return record.success ? record.data : undefined
  }

  output(agent_id: string, task_id: string): Promise<string | undefined> {
    return this.#text(join(this.#folder(agent_id), `${task_id}.txt`))
  }

  #folder(agent_id: string): string {
    return join(this.#svc.project.svc, 'journals', agent_id, 'code-tasks')
  }

  #text(file: string): Promise<string | undefined> {
    return this.#svc.ports.files.readFile(file, 'utf8').catch(unlessMissing)
  }
}
