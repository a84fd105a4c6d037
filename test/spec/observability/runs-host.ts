import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Run, type RunDetail, Runs, type Span, type Trace } from '#observability/runs/contract'
import runs from '#observability/runs/index'
import { type ModelServerRequest, type TestHost, type TestHostOptions, text, toolCall } from '../../support/index.ts'
import { asksForGoal, testHostWithModel } from '../core/models/model-host.ts'

type Reply = ReturnType<typeof text>

/** Returns a model with numbered goals that plays the steps in order and repeats the last one. */
export function numberedGoals(...steps: Reply[]) {
  let goals = 0
  return (request: ModelServerRequest): Reply => {
    if (asksForGoal(request)) {
      const n = ++goals
      return text(
        JSON.stringify({ goal: `Write piece number ${n}, all ${'abcdefgh'[n % 8]}${n} of it`, reasoning: 'r' }),
      )
    }
    return (steps.length > 1 ? steps.shift() : steps[0]) as Reply
  }
}

export const write = toolCall('file_write', { path: 'piece.md', content: 'words' })
export const writes = ['one', 'two', 'three'].map(content => toolCall('file_write', { path: 'piece.md', content }))
export const finish = toolCall('finish_goal', { summary: 'done', evidence: [] })

/** Starts a test host with a begun run of a daemon. */
export async function running(steps: Reply[] = [finish], options: TestHostOptions = {}) {
  const home = await testHostWithModel(numberedGoals(...steps), {
    ...options,
    builtins: [runs, ...(options.builtins ?? [])],
  })
  const run_id = await home.kernel.use(Runs).begin('daemon')
  return Object.assign(home, { run_id })
}

export const listRuns = ({ kernel }: TestHost, page = {}) => kernel.invoke('runs.list', page) as Promise<Run[]>
export const run = ({ kernel }: TestHost, id: string) => kernel.invoke('runs.get', { id }) as Promise<RunDetail>
export const trace = ({ kernel }: TestHost, run_id: string, query = {}) =>
  kernel.invoke('runs.trace', { run_id, ...query }) as Promise<Trace>

/** Returns a span and all spans below it. */
export function spans(span: Span): Span[] {
  return [span, ...span.children.flatMap(spans)]
}

/** Returns the log files of a run, oldest first. */
export async function logFiles(root: string, run_id: string, logs = 'logs'): Promise<string[]> {
  const folder = join(root, logs, 'runs', run_id)
  return (await readdir(folder))
    .filter(name => name.endsWith('.jsonl'))
    .sort()
    .map(name => join(folder, name))
}

export async function logText(root: string, run_id: string): Promise<string> {
  const files = await logFiles(root, run_id)
  return (await Promise.all(files.map(file => readFile(file, 'utf8')))).join('')
}
