import { type AgentRow, agentReach } from '#core/agents/contract'
import { Environment } from '#core/environment/contract'
import { Goals } from '#core/goals/contract'
import { imagesOf, readImages } from '#core/images/contract'
import { type Message, mergeParameters } from '#core/models/contract'
import { moodPrompt, type Profile } from '#core/profiles/contract'
import type { RunRequest, ToolSet } from '#core/runtime/contract'
import { unansweredCalls } from '#core/runtime/statements'
import { Skills } from '#core/skills/contract'
import type { PluginHandle } from '#kernel'
import { recordInput } from '#lib/recording-context'
import { Store } from '#platform/store/contract'
import type { TaskRow } from '../repository.ts'
import { parametersIn, toolkitsIn } from '../shape.ts'
import type { AnswerForm } from './answer-form.ts'
import { modelOf, type WorkingProfile } from './beginning.ts'
import { stateMessages, taskSystem } from './prompt.ts'
import { meanwhile, type SessionMemory, sessionMemory } from './remembered.ts'
import { taskTools } from './tools.ts'

/** Default time limit of a tool call, in seconds. */
const TOOL_TIMEOUT_S = 60

/** The toolkit by which agents ask people. */
const QUESTIONS = 'questions'
/** The toolkit of values, which stand in all prompts of the agent. */
const MEMORY = 'memory'
/** The tool that loads the skills of the catalogue. */
const READ_SKILL = 'read_skill'

/** The loop's request for a task, without signal and tools, and what else its run needs. */
export interface PreparedRequest {
  request: Omit<RunRequest, 'signal' | 'tools'>
  profile: Profile
  model: string | null
  /**
   * Number of newest messages to keep when older ones are due for a summary, regardless of the space left in the
   * context window.
   */
  keeps?: number
  /** Returns the current tools. */
  tools: () => ToolSet
}

/** Creates the workspace. Called before the first tool runs, because most tasks need none. */
export async function makeWorkspace({ ports: { files } }: PluginHandle, workspace: string): Promise<void> {
  await recordInput('workspace', () => files.mkdir(workspace, { recursive: true, mode: 0o700 }))
}

/** A task with its agent and its earlier messages. */
export interface Work {
  row: TaskRow
  agent: AgentRow
  working: WorkingProfile
  /** Whether its session was made for it alone, so that it is no part of a conversation. */
  isAlone: boolean
  /** Earlier messages of the task; empty if it has just started. */
  messages: readonly Message[]
  form: AnswerForm | undefined
}

/** Builds the loop's request: what the model reads and which tools it has. */
export async function prepareRun(
  svc: PluginHandle,
  configured: readonly string[],
  work: Work,
): Promise<PreparedRequest> {
  const { row, agent, isAlone, messages, form } = work
  const { profile, skills } = work.working
  const { agent_id, task_id } = row
  const toolkits = toolkitsIn(row) ?? configured
  // Only tasks of another protocol may ask. Their clients are other parties, who must neither learn nor change what the
  // agent knows of its own goals and of its operator.
  const names = row.may_ask ? [...toolkits.filter(name => name !== MEMORY), QUESTIONS] : toolkits
  const tools = () => taskTools(svc, names, profile)
  const reach = agentReach(svc.project, agent)
  // A resumed task may have calls to run first.
  if (messages.length > 0) await makeWorkspace(svc, reach.scratch)
  const before: SessionMemory = isAlone ? { messages: [] } : await sessionMemory(svc.use(Store), row)
  const model = modelOf(agent, profile)
  const surroundings = svc.has(Environment) ? svc.use(Environment) : undefined
  const environment = (await surroundings?.parts(agent, profile, tools())) ?? []
  const first = await firstMessages(svc, work, tools())
  const catalogue =
    svc.has(Skills) && tools().find(READ_SKILL) ? await svc.use(Skills).catalogue(agent, profile) : undefined
  const ways = [catalogue, skills].filter(Boolean).join('\n\n')
  const { cycle_num } = agent
  const parameters = mergeParameters(parametersIn(row), profile.parameters)
  return {
    profile,
    model,
    tools,
    ...(messages.length === 0 && before.keeps ? { keeps: before.keeps } : {}),
    request: {
      agent_id,
      goal_id: null,
      cycle_num,
      ...reach,
      model,
      ...(messages.length === 0 ? {} : await unansweredCalls(svc.use(Store), 'task_id', task_id)),
      call_prefix: `${task_id}:${row.epoch}`,
      purpose: { agent_id, goal_id: null, cycle_num, kind: 'task', task_id, max_cost_usd: profile.max_cost_usd },
      fallback: profile.fallback,
      temperature: profile.temperature,
      max_tokens: parameters.max_tokens ?? profile.max_tokens,
      parameters,
      max_steps: row.max_steps - row.steps_taken,
      system: [
        taskSystem(profile, row.may_ask ? undefined : agent_id, ways, tools(), form !== undefined),
        ...environment,
      ].join('\n\n'),
      transcript: [...before.messages, ...messages],
      tool_timeout: Number(svc.config.get('daemon.tool_timeout') ?? TOOL_TIMEOUT_S),
      ends: 'text',
      ...(form ? { response_schema: form.schema } : {}),
      newMessages: async () => first.splice(0),
      hasUnread: async () => first.length > 0,
    },
  }
}

/** Returns the task with the agent's state, or for a task that continues, what came since. */
async function firstMessages(
  svc: PluginHandle,
  { row, agent, working, messages }: Work,
  tools: ToolSet,
): Promise<Message[]> {
  if (!messages.every(({ summary }) => summary)) return meanwhile(svc.use(Store), row, messages)
  const instruction: Message = { role: 'user', content: row.instruction, ...imagesOf(readImages(row.images)) }
  const workspace = svc.has(Environment) ? await svc.use(Environment).workspace(agent, tools) : undefined
  const goals = !row.may_ask && svc.has(Goals) ? await svc.use(Goals).describe?.(agent, row.instruction) : undefined
  return [instruction, ...stateMessages([moodPrompt(working.profile), goals, workspace])]
}
