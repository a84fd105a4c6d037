import type { CallPurpose, Message, ModelCall, ModelRequest, Spend, Summary, ToolSpec } from '#core/models/contract'
import type { Profile } from '#core/profiles/contract'
import { type Effect, type Issue, point, token } from '#kernel'
import { isTree } from '#lib/tree'
import type { Reach } from '#safety/sandbox/contract'
import type { Tool } from '#tools/toolkits/contract'

/** The tool by which an agent says that its goal is reached, or gives it up. It ends the run; the end is written as such, so it has no journal entry. */
export const FINISH_GOAL = 'finish_goal'

/** The tool by which an agent finds those of its tools that are not in view. */
export const FIND_TOOLS = 'find_tools'

/** One tool call that a model asked for. */
export interface PlannedCall {
  /** `<agent>:<epoch>:<step>:<n>` with the agent's lease, also the key that tools may use for idempotency. */
  call_id: string
  /** The id by which the model knows it. */
  id: string
  name: string
  /** An object, or the raw text when it was not JSON. */
  arguments: unknown
  /** What was mended in it. */
  repaired?: readonly string[]
  step: number
}

/** The events of a run, in order. The consumer stores each before it asks for the next: the run waits for it. */
export type RunEvent =
  /** The model answered. `received` are the messages since its last answer. Nothing has run yet. */
  | {
      type: 'answer'
      step: number
      received: readonly Message[]
      message: Message
      calls: readonly PlannedCall[]
      spend: Spend
    }
  /** One tool call came to its end; they end in any order. */
  | { type: 'outcome'; call: PlannedCall; message: Message; effects: readonly Effect[] }

/** What becomes of a tool call before it runs. */
export type Verdict =
  /** It runs, with these arguments: what the operator approved may differ from what the model asked for. */
  | { verdict: 'run'; arguments: unknown }
  /** It does not run; the model reads why. */
  | { verdict: 'refuse'; reason: string }
  /** It waits for the operator, by the id of an approval or a question; the run ends and is taken up again when that is decided. */
  | { verdict: 'park'; approval_id: string }

/** Levels that what a model writes may have: whatever goes through deeper JSON runs out of stack. */
const MOST_LEVELS = 100

/** Whether JSON that was read is nested deeper than may be. */
export function isTooDeep(value: unknown, levels = MOST_LEVELS): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some(each => isTooDeep(each, levels - 1))
}

/** Whether a model's answer says nothing and calls nothing; its reasoning alone is no answer. Such a message is not stored. */
export function isEmptyAnswer({ role, content, tool_calls = [], dropped_calls = 0 }: Message): boolean {
  return role === 'assistant' && content.trim() === '' && tool_calls.length === 0 && dropped_calls === 0
}

/** One text for one value, however its keys are ordered: what arguments are compared and hashed by. Numbers are as JSON has them (1.0 is 1), text is taken as it is, so that two Unicode forms of a letter differ. */
export function canonicalJson(value: unknown): string {
  const sortKeys = (_: string, each: unknown) =>
    isTree(each) ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1))) : each
  return JSON.stringify(value, sortKeys) ?? 'null'
}

/** What an agent says it achieved. */
export interface Claim {
  summary: string
  /** Where it can be seen, as the agent says: file names, message ids. */
  evidence: readonly string[]
  /** It said so in bare answers, and did not call `finish_goal`. */
  unconfirmed: boolean
}

/** What an end waits for: the id of a question to the operator. */
export interface Waiting {
  waits_for: string
}

export type RunEnd =
  /** Calls wait for the operator; all others of that turn have run. */
  | { status: 'parked'; approval_ids: readonly string[]; steps: number }
  | ({ status: 'finished'; steps: number } & Claim)
  | { status: 'refused'; summary: string; steps: number }
  /** The agent gave the goal up. */
  | { status: 'declined'; reason: string; steps: number }
  /** The answer stopped at `max_tokens`: only a run that ends with a text can end so. */
  | { status: 'cut'; summary: string; steps: number }
  | { status: 'max_steps'; steps: number }
  /** The same calls with the same results, three times in a row; the last result says so to the model. */
  | { status: 'repeating'; calls: string; steps: number }
  /** `yields` said that there is something else to do first. */
  | { status: 'yielded'; steps: number }

export interface RunRequest extends Reach {
  agent_id: string
  goal_id: string | null
  cycle_num: number
  /** First part of every call id: unique to this lease of the agent. */
  call_prefix: string
  purpose: CallPurpose
  model: string | null
  /** Who is asked when that one gives no answer. */
  fallback?: readonly string[]
  temperature: number
  max_tokens: number
  /** How the model answers besides. */
  parameters?: ModelRequest['parameters']
  max_steps: number
  /** Rebuilt for each run, never stored. */
  system: string
  /** What it is made of, a blank line apart; a model with a small context window is not given the whole of the longest. */
  system_parts?: readonly string[]
  /** What was said so far, oldest first. An assistant message at the end may have calls without results. */
  transcript: readonly Message[]
  tools: ToolSet
  signal: AbortSignal
  /** Seconds that one tool call may take; 0 sets no limit. */
  tool_timeout: number
  /** Asked before each model call: messages that arrived in the meantime. */
  newMessages(): Promise<readonly Message[]>
  /** The journal's id of a call in the transcript that has no result, so that it is known what may be run again. */
  unanswered?: ReadonlyMap<string, string>
  /** Those of the journal's ids whose calls never began, because the gate has not let them: it is asked again. */
  waiting?: ReadonlySet<string>
  /** Called with each piece of an answer's text as it comes, of all steps. */
  onText?: (text: string) => void
  /** Called when what `onText` was given of the answer on its way is taken back; see `ModelCall`. */
  onReset?: () => void
  /** What ends the run: `finish_goal`, by instruction; or `text`, an answer without tool calls, as in a one-shot task. */
  ends?: 'finish_goal' | 'text'
  /** What the text that ends the run is to be: an object of this schema. Only for a run that ends with a text. */
  response_schema?: NonNullable<ModelRequest['response_schema']>
  /** Asked of the text that would end a run of texts: what is wrong with it, for the model to mend. Undefined lets it end. */
  review?(text: string): Promise<string | undefined>
  /** Asked before each call runs, with valid arguments; a call that it lets run is its last step before that. Without it all run. */
  gate?(call: PlannedCall, tool: Tool): Promise<Verdict>
  /**
   * Asked when the agent says that its goal is reached, once the other calls of that turn are written down.
   * @returns why it is not, or that the answer waits for the operator: the run is then parked and the same claim is judged again
   */
  objection?(claim: Claim): Promise<string | Waiting | undefined>
  /**
   * Asked before each model call: the message that stands for the oldest part of the conversation from now on, already written
   * down; undefined where there is none to be made.
   */
  summarize?(call: ModelCall): Promise<Message | undefined>
  /** Asked before each model call, right before `newMessages`: true ends the run there, to be taken up again later. */
  yields?(): Promise<boolean>
}

/** The tools of an agent, with their descriptions for the model. */
export interface ToolSet {
  /** What is in view at first: the core of the profile, and `find_tools` where there are others. */
  specs: readonly ToolSpec[]
  /** What the prompt says of the toolkits in view. */
  instructions: readonly string[]
  /** The names of all the tools, on offer or not. */
  names: readonly string[]
  /** Any of the tools, on offer or not. */
  find(name: string): Tool | undefined
  /**
   * What is on offer once this was said: tools that were found, named or called come in, within the same budget.
   * @param tokens a smaller budget, for a model with a small context window
   */
  toolsAfter(messages: readonly Message[], tokens?: number): readonly ToolSpec[]
}

/** A summary that a conversation may need. */
export interface SummaryWanted {
  /** Whose failures count together: a goal, or a session. */
  conversation: string
  /** Newest messages to keep at most, where a summary is due however much room there is. */
  keeps?: number | undefined
  /** Whether lines worth remembering are asked for too. */
  remembers?: boolean
  /** Writes down what the call cost, with the summary if its answer is one. What it throws ends the run. */
  save(spend: Spend, summary: Message | undefined): Promise<void>
}

export interface Runtime {
  /**
   * Runs the ReAct loop: ask the model, run its tool calls side by side, again, until it finishes or `max_steps`.
   * @throws ModelError when the model gives no answer; what the signal was aborted with; what the gate throws
   */
  run(request: RunRequest): AsyncGenerator<RunEvent, RunEnd>
  /**
   * Asks a model for the summary of a conversation, where the next request would hold a digest of it; after a failure not
   * before a pause, longer each time.
   * @returns undefined when none is due, or none could be had: then a digest stands in for it
   * @throws what `save` throws, and what the signal was aborted with
   */
  summarize(call: ModelCall, wanted: SummaryWanted): Promise<Summary | undefined>
  /** The tools that a profile's agents are given; with `toolkits` those of them only, and no `finish_goal`: for one-shot tasks. */
  toolsFor(profile: Profile, toolkits?: readonly string[]): ToolSet
  /**
   * Returns what is wrong with names that a list gives: a message for each that no toolkit or its group, or no tool, has. Where
   * plugin files are not run, which may bring any name, nothing is.
   */
  unknownNames(kind: 'toolkit' | 'tool', names: readonly string[]): string[]
}
export const Runtime = token<Runtime>('runtime')

/** Knows names of toolkits and tools that come while the process runs, such as those of MCP servers. */
export interface LateTools {
  name: string
  brings(kind: 'toolkit' | 'tool', name: string): boolean
}
export const LateTools = point<LateTools>('late_tools', {
  key: late => late.name,
  has: { name: 'text', brings: 'function' },
})

/** What came of the check of a value by a JSON Schema. */
export interface SchemaCheck {
  /** What is wrong with the value. */
  issues: Issue[]
  /** Why it was not checked: the schema is none, or its check takes too long. */
  unchecked?: string
}

/** Checks values by JSON Schemas (2020-12) that come from outside, in a thread of its own and within a time limit. */
export interface Schemas {
  check(schema: Record<string, unknown>, value: unknown): Promise<SchemaCheck>
  /** @throws an Error that says what is wrong with the schema, or which part of it would not be checked */
  admit(schema: Record<string, unknown>): Promise<void>
}
export const Schemas = token<Schemas>('schemas')
