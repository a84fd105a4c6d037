import { definePlugin, type PluginDefinition, z } from '#kernel'
import type { Approval, ApprovalSummary } from '#safety/approvals/contract'
import approvals from '#safety/approvals/index'
import { type Tool, tool } from '#tools/toolkits/contract'
import {
  type Answer,
  type ModelServerRequest,
  type TestHost,
  type TestHostOptions,
  text,
  toolCall,
  until,
  waitUntilIdle,
} from '../../support/index.ts'
import { asksForGoal, goalsOf, spawn, testHostWithModel } from '../core/models/model-host.ts'

/** Tools that record each run with its arguments; `send` and `wipe` need an approval, `look` does not. */
export function recordingTools(): { runs: { tool: string; args: unknown }[]; plugin: PluginDefinition } {
  const runs: { tool: string; args: unknown }[] = []
  const add = (name: string, more: Partial<Tool> = {}) =>
    tool({
      name,
      description: 'Notes that it ran.',
      parameters: z.object({ to: z.string().optional(), n: z.number().optional(), text: z.string().optional() }),
      ...more,
      execute(args) {
        runs.push({ tool: name, args })
        if ((args as { to?: string }).to === 'no one') throw new Error('there is no one of that name')
        return `${name} ran ${runs.length}`
      },
    })
  const tools = [
    add('send', { requires_approval: true }),
    add('wipe', { danger: 'deletes\u001b[2J files' }),
    add('again', { requires_approval: true, idempotent: true }),
    add('look'),
    add('run', {
      requires_approval: true,
      shell_arguments: ['text'],
      parameters: z.object({ text: z.string(), cwd: z.string().default('.'), background: z.boolean().default(false) }),
    }),
    add('print', { requires_approval: true, preview: () => ['one', 'two'] as never }),
    add('post', {
      requires_approval: true,
      check({ to }: { to?: string }) {
        if (to === 'nowhere') throw new Error('there is no address "nowhere"')
      },
    }),
  ]
  return {
    runs,
    plugin: definePlugin({
      name: 'recorded',
      setup: svc => void svc.toolkit({ name: 'recorded', everyday: true, tools }),
    }),
  }
}

export const finish = (summary = 'done') => toolCall('finish_goal', { summary })
export const goalAnswer = (objective: string) => text(JSON.stringify({ goal: objective }))

export type Step = Answer | ((request: ModelServerRequest) => Answer | Promise<Answer>)

/** Returns one goal for each agent, then these steps; the last one repeats. */
export function steps(...list: Step[]) {
  return (request: ModelServerRequest) => {
    if (asksForGoal(request)) return goalAnswer(request.prompt.includes('Recent goals') ? '' : 'Send word to everybody')
    const step = list.length > 1 ? list.shift() : list[0]
    return typeof step === 'function' ? step(request) : step
  }
}

const GATED = { approval: { enabled: true } }

/** Creates a test host with approvals and an agent that starts its script at once. */
export async function testHostWithApprovals(list: Step[], options: TestHostOptions = {}) {
  const { runs, plugin } = recordingTools()
  const config = { ...GATED, ...(options.config as Record<string, unknown> | undefined) }
  const home = await testHostWithModel(steps(...list), {
    ...options,
    config,
    builtins: [approvals, plugin, ...(options.builtins ?? [])],
  })
  const id = await spawn(home)
  home.kernel.heartbeat.start()
  return Object.assign(home, { id, runs })
}

export const pending = ({ kernel }: TestHost) => kernel.invoke('approvals.queue') as Promise<ApprovalSummary[]>
export const history = ({ kernel }: TestHost, id: string) =>
  kernel.invoke('approvals.list', { id, status: 'all' }) as Promise<ApprovalSummary[]>
export const show = ({ kernel }: TestHost, approval_id: string) =>
  kernel.invoke('approvals.show', { approval_id }) as Promise<Approval>

/** Decides through the command line, then advances the clock past the agent's rest. */
export async function decide(home: TestHost, approval_id: string, input: Record<string, unknown>): Promise<Approval> {
  const decided = await home.kernel.invoke('approvals.decide', { approval_id, ...input }, { via: 'cli' })
  await home.clock.advance(1_000)
  return decided as Approval
}

/** Waits until a call waits for the operator and the agent is idle. */
export async function waitForPendingCall(home: TestHost): Promise<ApprovalSummary> {
  await until(async () => (await pending(home)).length > 0)
  await waitUntilIdle(home)
  return (await pending(home))[0]!
}

/** Returns the tool results in the last request to the model. */
export function results({ requests }: { requests: readonly ModelServerRequest[] }): string[] {
  const messages = requests.at(-1)?.body.messages ?? []
  return messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content))
}

export const steppedIn = ({ requests }: { requests: readonly ModelServerRequest[] }) =>
  requests.filter(request => !asksForGoal(request)).length

/** Waits until the agent's newest goal is completed. */
export const waitForCompletedGoal = (home: TestHost & { id: string }) =>
  until(async () => (await goalsOf(home, home.id))[0]?.status === 'completed')
