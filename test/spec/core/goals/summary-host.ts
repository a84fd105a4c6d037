import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Goal } from '#core/goals/contract'
import {
  type ModelServer,
  type ModelServerRequest,
  type Reply,
  runHeartbeat,
  type Script,
  type TestHost,
  type TestHostOptions,
  text,
  toolCall,
} from '../../../support/index.ts'
import { finish, goalAnswer } from '../../safety/approvals-host.ts'
import { asksForGoal, goalsOf, spawn, testHostWithModel } from '../models/model-host.ts'

export const fact = (n: number) => `The colour of number ${n} is ${['red', 'green', 'blue'][n % 3]}${n * 7}.`

/** Returns whether a request asks for a summary rather than for the next step. */
export const asksForSummary = ({ prompt }: { prompt: string }) =>
  prompt.includes("You write the record of an agent's work")

export const summary = (done: string, more = '') =>
  text(
    `## Goal\nRead all files.\n## Orders and constraints\nnone\n## Decisions\nnone\n## Done\n${done}\n## Failed\nnone\n## Next\nRead on.${more}`,
  )

export interface Reading {
  files: number
  /** Numbers whose facts are asked for at the end. */
  wanted: readonly number[]
  summarise?: (request: ModelServerRequest) => Reply
  config?: Record<string, unknown>
  window?: number
  profile?: string
}

/** Reads files in turn, and at the end states the wanted facts that its prompt holds. */
export function reader({ files, wanted, summarise }: Reading) {
  const knownFacts = ({ prompt }: ModelServerRequest) => wanted.map(fact).filter(each => prompt.includes(each))
  let next = 1
  return (request: ModelServerRequest): Reply => {
    if (asksForGoal(request)) return goalAnswer(request.prompt.includes('Recent goals') ? '' : 'Read all files')
    if (asksForSummary(request)) return summarise?.(request) ?? summary(knownFacts(request).join('\n'))
    return next <= files
      ? toolCall('file_read', { path: `f${next++}.txt` })
      : finish(knownFacts(request).join(' ') || 'Nothing is known.')
  }
}

/** Opens a project whose agents read files with a small context window. */
export function readingHome(
  { window = 12_000, profile = '', config }: Reading,
  script: Script,
  options: TestHostOptions,
) {
  return testHostWithModel(script, {
    ...options,
    files: {
      'models.yaml': `models: { "openai:scripted": { context_window: ${window} } }\nprices: { "openai:scripted": { input: 1, output: 2 } }\n`,
      'profiles/worker.yaml': `name: worker\nrole: reads\nmax_steps: 10\nmax_tokens: 1000\n${profile}`,
      ...options.files,
    },
    config: {
      ...config,
      daemon: { pursuit_transcript_max_messages: 1_000, max_retries: 0, ...(config?.daemon as object) },
    },
    serving: { window },
  })
}

/** Opens the same project with an agent, and with files that each begin with one fact. */
export async function reading(plan: Reading, options: TestHostOptions = {}) {
  const home = await readingHome(plan, reader(plan), options)
  const id = await spawn(home)
  await writeFiles(home.root, id, plan.files)
  return Object.assign(home, { id })
}

export async function writeFiles(root: string, id: string, files: number): Promise<void> {
  const workspace = join(root, '.svc/workspaces', id)
  await mkdir(workspace, { recursive: true })
  for (let n = 1; n <= files; n++) {
    const filler = 'Nothing of note stands here. '.repeat(100)
    await writeFile(join(workspace, `f${n}.txt`), `${fact(n)}\n${filler}The end of number ${n}.`)
  }
}

/** Runs heartbeats until a request contains a summary. */
export async function waitForSummary(home: TestHost & { server: ModelServer }): Promise<ModelServerRequest> {
  home.kernel.heartbeat.start()
  for (let n = 0; n < 100; n++) {
    await runHeartbeat(home)
    const found = home.server.requests.findLast(({ prompt }) => prompt.includes('Historical record of'))
    if (found) return found
  }
  throw new Error('no summary was used within 100 heartbeats')
}

/** Runs heartbeats until the agent's first goal has ended. */
export async function firstEnded(home: TestHost, id: string): Promise<Goal> {
  home.kernel.heartbeat.start()
  for (let n = 0; n < 100; n++) {
    await runHeartbeat(home)
    const ended = (await goalsOf(home, id)).find(({ status }) => status !== 'active')
    if (ended) return ended
  }
  throw new Error('no goal has ended within 100 heartbeats')
}
