import { type Act, isQuestionOfEnd, quote, type Scene } from './scene.ts'

/** Text to say next, and at most one tool call. */
export interface Step {
  say: string
  call?: { name: string; args: Record<string, unknown> }
}

/** Read-only tools. */
const LOOKING = /^(list_dir|file_read|read_\w+|query_\w+)$/
const MAX_SENT_BACK = 2

/** Folder of the answers to the operator's remarks. */
export const REMARK_FOLDER = 'remarks/'
export const REMARK_NOTE = 'The operator says: '

/** Returns a step that says something and calls a tool. */
export function act(say: string, name: string, args: Record<string, unknown>): Step {
  return { say, call: { name, args } }
}

/** Returns the calls of one tool. */
export function callsOf(acts: readonly Act[], tool: string): Act[] {
  return acts.filter(each => each.tool === tool)
}

/** Returns the calls that do more than answer a remark. */
export function withoutReplies(acts: readonly Act[]): Act[] {
  return acts.filter(({ args: { path, text } }) => {
    return !String(path ?? '').startsWith(REMARK_FOLDER) && !String(text ?? '').startsWith(REMARK_NOTE)
  })
}

/** Returns the path of the written page, if any. */
export function pageIn(acts: readonly Act[]): string | undefined {
  const written = withoutReplies(callsOf(acts, 'file_write')).findLast(({ failed }) => !failed)
  return written && String(written.args.path)
}

/** Returns the last step: it finishes the goal, or only summarizes where that tool is missing. */
export function end(scene: Scene): Step {
  const { tools, acts } = scene
  const sentBack = callsOf(acts, 'finish_goal')
  const summary = summaryOf(scene)
  if (!tools.has('finish_goal') || hasOnlyFailures(acts) || sentBack.length >= MAX_SENT_BACK) return { say: summary }
  const objection = sentBack.at(-1)
  const path = pageIn(acts)
  return act('That is done.', 'finish_goal', {
    summary: objection
      ? `${summary} In reply to the objection ${quote(objection.result)}: I have nothing to add.`
      : summary,
    ...(path ? { evidence: [path] } : {}),
  })
}

/** Summarizes the calls. */
function summaryOf({ objective, acts, remarks }: Scene): string {
  const options = acts.filter(({ tool }) => tool !== 'finish_goal')
  const results = options.map(
    ({ tool, failed, result }) => `${tool} ${failed ? 'failed with' : 'returned'} ${quote(result)}`,
  )
  const mentions = remarks.filter(remark => !isQuestionOfEnd(remark)).map(remark => `A message said ${quote(remark)}`)
  const simulated = 'Simulated by rules, not an AI model.'
  const account = [...results, ...mentions].join('; ')
  if (hasOnlyFailures(acts)) return `I am not able to reach ${quote(objective)}: ${account}. ${simulated}`
  if (account) return `Done: ${quote(objective)}. Step by step: ${account}. ${simulated}`
  return `You asked ${quote(objective)}. ${simulated} I can use tools step by step and quote what they return, but I cannot reason about this.`
}

/** Returns whether every call that changes something failed. */
function hasOnlyFailures(acts: readonly Act[]): boolean {
  const tried = withoutReplies(acts).filter(({ tool }) => tool !== 'finish_goal')
  const done = tried.filter(({ tool }) => !LOOKING.test(tool))
  const judged = done.length > 0 ? done : tried
  return judged.length > 0 && judged.every(({ failed }) => failed)
}
