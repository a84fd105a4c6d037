import type { CallPurpose, Message, ModelCall, ModelRequest, Spend, Summary, ToolSpec } from '#core/models/contract'
import type { Profile } from '#core/profiles/contract'
import { type Effect, type Issue, point, token } from '#kernel'
import { isTree } from '#lib/tree'
import type { Reach } from '#safety/sandbox/contract'
import type { Tool } from '#tools/toolkits/contract'

/**
 * Name of the tool by which an agent finishes its goal or gives it up. It ends the run. The end is stored separately,
 * so it has no journal entry.
 */
export const FINISH_GOAL = 'finish_goal'

/** Name of the tool with which an agent asks the operator. */
export const ASK_OPERATOR = 'ask_operator'

/** Name of the tool by which an agent finds tools that its prompt does not list. */
export const FIND_TOOLS = 'find_tools'

/** A tool call requested by a model. */
export interface PlannedCall {
  /** `<agent>:<epoch>:<step>:<n>` with the epoch of the agent's lease. Tools may use it as an idempotency key. */
  call_id: string
  /** The model's id of the call. */
  id: string
  name: string
  /** An object, or the raw text when it was not JSON. */
  arguments: unknown
  /** Repairs made to the call. */
  repaired?: readonly string[]
  /** Whether the answer reached its limit of tokens within the arguments. */
  cut?: boolean
  /** Whether an earlier call of the answer waits. This one may ask for an approval of its own, but not run. */
  isHeld?: boolean
  step: number
}

/** Events of a run, in order. The consumer stores each event before requesting the next one; the run waits for that. */
export type RunEvent =
  /** The model answered. `received` contains the messages since its previous answer. No call has run yet. */
  | {
      type: 'answer'
      step: number
      received: readonly Message[]
      message: Message
      calls: readonly PlannedCall[]
      spend: Spend
    }
  /** A tool call ended, or was refused without running (`ran` is false). Calls may end in any order. */
  | { type: 'outcome'; call: PlannedCall; message: Message; effects: readonly Effect[]; ran?: boolean }

/** Decision on a tool call before it runs. `from_operator`: the model reads words of the operator in its result. */
export type Verdict =
  /** Run the call with these arguments, which the operator may have changed on approval, with a remark for the model. */
  | { verdict: 'run'; arguments: unknown; remark?: string; from_operator?: boolean }
  /** Do not run the call. The model reads the reason. */
  | { verdict: 'refuse'; reason: string; from_operator?: boolean }
  /**
   * Wait for the operator's decision on an approval or a question, by its id. The run ends and resumes after the
   * decision.
   */
  | { verdict: 'park'; approval_id: string }
  /** Leave the call for the next run: it may run, but not before the earlier calls that wait. */
  | { verdict: 'hold' }

/** Maximum nesting of JSON written by a model. Deeper JSON overflows the stack of code that processes it. */
const MOST_LEVELS = 100

/** Returns whether parsed JSON is nested too deeply. */
export function isTooDeep(value: unknown, levels = MOST_LEVELS): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some(each => isTooDeep(each, levels - 1))
}

/**
 * Returns whether a model's answer has neither text nor calls. Reasoning alone is no answer. Such messages are not
 * stored.
 */
export function isEmptyAnswer({ role, content, tool_calls = [], dropped_calls = 0 }: Message): boolean {
  return role === 'assistant' && content.trim() === '' && tool_calls.length === 0 && dropped_calls === 0
}

/**
 * Serializes a value with sorted keys, to compare and hash arguments. Numbers are as in JSON (1.0 is 1). Text is not
 * normalized, so two Unicode forms of a letter differ.
 */
export function canonicalJson(value: unknown): string {
  const sortKeys = (_: string, each: unknown) =>
    isTree(each) ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1))) : each
  return JSON.stringify(value, sortKeys) ?? 'null'
}

/** What an agent claims to have achieved. */
export interface Claim {
  summary: string
  /** Evidence that the agent names, such as file names and message ids. */
  evidence: readonly string[]
  /** Whether the agent claimed it in plain answers, without calling `finish_goal`. */
  unconfirmed: boolean
}

/** Why the operator does not accept an end, in the operator's words. */
export interface Rejection {
  rejection: string
}

/** An end that waits for the operator, by the id of a question. */
export interface Waiting {
  waits_for: string
}

/** The limit that cut an answer, in words, and how the operator can raise it. */
export interface AnswerLimit {
  limit: string
  remedy: string
}

export type RunEnd =
  /** Calls wait for the operator, and with them all later ones of that turn. */
  | { status: 'parked'; approval_ids: readonly string[]; steps: number }
  | ({ status: 'finished'; steps: number } & Claim)
  /** The model declined, or gave no answer; `problem` says why it gave none, where that is known. */
  | { status: 'refused'; summary: string; problem?: string; steps: number }
  /** The agent gave the goal up. */
  | { status: 'declined'; reason: string; steps: number }
  /** The answer stopped at its limit of tokens. Only runs that end with a text can end this way. */
  | ({ status: 'cut'; summary: string; steps: number } & AnswerLimit)
  | { status: 'max_steps'; steps: number }
  /**
   * The model made the same calls with the same results three times in a row, or in turn. The last result warns the
   * model of that. `problem` says what was wrong with its answers, where they had no calls or none that ran.
   */
  | { status: 'repeating'; calls: string; problem?: string; steps: number }
  /** `yields` or `waits` returned true, or `mayBegin` `later`. */
  | { status: 'yielded'; steps: number }

export interface RunRequest extends Reach {
  agent_id: string
  goal_id: string | null
  cycle_num: number
  /** First part of every call id: unique to this lease of the agent. */
  call_prefix: string
  purpose: CallPurpose
  model: string | null
  /** Models to try, in order, if the first one fails. */
  fallback?: readonly string[]
  temperature: number
  max_tokens: number
  /** Further model parameters. */
  parameters?: ModelRequest['parameters']
  max_steps: number
  /** System prompt. Rebuilt for each run, never stored. */
  system: string
  /**
   * Parts of the system prompt, joined by blank lines. For a model with a small context window the longest part is
   * shortened.
   */
  system_parts?: readonly string[]
  /** Messages so far, oldest first. An assistant message at the end may have calls without results. */
  transcript: readonly Message[]
  tools: ToolSet
  signal: AbortSignal
  /** Time limit of a tool call, in seconds; 0 sets none. */
  tool_timeout: number
  /** Returns messages that arrived in the meantime. Called before each model call. */
  newMessages(): Promise<readonly Message[]>
  /** @deprecated Use `newMessages`. */
  news?(): Promise<readonly Message[]>
  /** Journal ids of calls in the transcript without a result, to decide which may run again. */
  unanswered?: ReadonlyMap<string, string>
  /** Journal ids of calls that never started because the gate held them. The gate decides on them again. */
  waiting?: ReadonlySet<string>
  /** Those of `waiting` that wait for no decision of their own, only for earlier calls or the end of a pause. */
  planned?: ReadonlySet<string>
  /** Returns whether the operator wrote since the last answer. Calls of `planned` then do not run. */
  hasUnread?(): Promise<boolean>
  /** Receives each piece of an answer's text as it arrives, for all steps. */
  onText?: (text: string) => void
  /** Called when the text of the current answer passed to `onText` is withdrawn; see `ModelCall`. */
  onReset?: () => void
  /**
   * How the run ends: by a call of `finish_goal`, or with `text`, an answer without tool calls, as in a one-shot task.
   */
  ends?: 'finish_goal' | 'text'
  /** Schema of the object that the final text must contain. Only for runs that end with a text. */
  response_schema?: NonNullable<ModelRequest['response_schema']>
  /**
   * Reviews the text that would end the run. Returns the problem for the model to correct; undefined accepts the text.
   */
  review?(text: string): Promise<string | undefined>
  /**
   * Decides on each call, with valid arguments, directly before it runs. Without a gate all calls run.
   * @param check throws if the call cannot succeed, so that no decision is needed
   */
  gate?(call: PlannedCall, tool: Tool, check: () => Promise<void>): Promise<Verdict>
  /**
   * Judges the agent's claim that its goal is reached, after the other calls of the turn are stored.
   * @returns the objection, or the question that it waits for: the run is then parked and the same claim is judged
   * again later
   */
  objection?(claim: Claim): Promise<string | Rejection | Waiting | undefined>
  /**
   * Returns the message that replaces the oldest part of the conversation, already stored; undefined if none is needed.
   * Called before each model call.
   */
  summarize?(call: ModelCall): Promise<Message | undefined>
  /** Called before each model call, right before `newMessages`. True ends the run, to be resumed later. */
  yields?(): Promise<boolean>
  /**
   * Called after an answer without tool calls, with its text. True ends the run, to be resumed when the work of others
   * that it waits for has ended. Only for runs that end by `finish_goal`.
   */
  waits?(text: string): Promise<boolean>
  /**
   * Called before calls of an answer begin. `later` ends the run and leaves them and all that follow for the next one;
   * `never` answers them with an error.
   */
  mayBegin?(): Promise<'now' | 'later' | 'never'>
  /** Stores that calls of an answer did not begin, so that the next run begins them. */
  defer?(calls: readonly PlannedCall[]): Promise<void>
}

/** The tools of an agent, with their descriptions for the model. */
export interface ToolSet {
  /** Tools offered at first: the profile's core, and `find_tools` if there are others. */
  specs: readonly ToolSpec[]
  /** Instructions in the prompt for the toolkits offered at first. */
  instructions: readonly string[]
  /** Names of all tools, offered or not. */
  names: readonly string[]
  /**
   * Returns any of the tools, offered or not.
   * @param offered returns the tools in view, which `find_tools` leaves out of its results; default: those at first
   */
  find(name: string, offered?: () => readonly ToolSpec[]): Tool | undefined
  /**
   * Returns the tools offered after these messages: tools that were found, named or called are added, within the same
   * budget.
   * @param tokens a smaller budget, for a model with a small context window
   */
  toolsAfter(messages: readonly Message[], tokens?: number): readonly ToolSpec[]
  /** @deprecated Use `toolsAfter`. */
  offered(messages: readonly Message[], tokens?: number): readonly ToolSpec[]
}

/** A summary that a conversation may need. */
export interface SummaryWanted {
  /** Goal or session for which failures are counted together. */
  conversation: string
  /**
   * Maximum number of newest messages to keep. If set, a summary is due regardless of the space left in the context
   * window.
   */
  keeps?: number | undefined
  /** Whether the summary also asks for facts worth remembering. */
  remembers?: boolean
  /** Stores the call's cost, and the summary if the answer is one. Its errors end the run. */
  save(spend: Spend, summary: Message | undefined): Promise<void>
}

export interface Runtime {
  /**
   * Runs the ReAct loop: calls the model, runs its tool calls concurrently, and repeats until the run finishes or
   * reaches `max_steps`.
   * @throws ModelError if the model gives no answer; the abort reason of the signal; errors of the gate
   */
  run(request: RunRequest): AsyncGenerator<RunEvent, RunEnd>
  /**
   * Has a model summarize a conversation if the next request would otherwise contain a digest. Waits after each
   * failure, longer each time.
   * @returns undefined if no summary is due or none could be written; a digest replaces it then
   * @throws errors of `save`, and the abort reason of the signal
   */
  summarize(call: ModelCall, wanted: SummaryWanted): Promise<Summary | undefined>
  /**
   * Returns the tools of a profile's agents. With `toolkits`, for one-shot tasks, only those of these toolkits, or with
   * `profile` all of the profile; both without those that need a goal.
   */
  toolsFor(profile: Profile, toolkits?: readonly string[] | typeof PROFILE_TOOLKITS): ToolSet
  /**
   * Returns a message for each name that matches no toolkit, toolkit group or tool. Empty if plugin files are not run,
   * because they might add any name.
   */
  unknownNames(kind: 'toolkit' | 'tool', names: readonly string[]): string[]
}
export const Runtime = token<Runtime>('runtime')

/** In place of names of toolkits: those of the agent's profile. */
export const PROFILE_TOOLKITS = 'profile'

/** The module that holds calls until they are approved; without one, no call waits. */
export interface ToolGate {
  /** Returns whether the configuration requires approval for this tool. */
  needsApproval(tool: Tool): boolean
}
export const ToolGate = token<ToolGate>('tool_gate')

/** Names of toolkits and tools that are added at run time, such as those of MCP servers. */
export interface LateTools {
  name: string
  brings(kind: 'toolkit' | 'tool', name: string): boolean
}
export const LateTools = point<LateTools>('late_tools', {
  key: late => late.name,
  has: { name: 'text', brings: 'function' },
})

/** Result of validating a value against a JSON Schema. */
export interface SchemaCheck {
  /** Validation errors. */
  issues: Issue[]
  /** Why the value was not validated: the schema is invalid or takes too long to check. */
  unchecked?: string
}

/** Validates values against JSON Schemas (2020-12) from outside, in a separate thread with a time limit. */
export interface Schemas {
  check(schema: Record<string, unknown>, value: unknown): Promise<SchemaCheck>
  /**
   * Checks that a schema can be used.
   * @throws an Error that states what is wrong with the schema, or which part of it would not be checked
   */
  admit(schema: Record<string, unknown>): Promise<void>
}
export const Schemas = token<Schemas>('schemas')
