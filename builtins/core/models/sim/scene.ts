import type { Message, ModelRequest, ToolSpec } from '../contract.ts'

/** A tool call of the conversation with its result. */
export interface Act {
  tool: string
  args: Record<string, unknown>
  result: string
  failed: boolean
}

/** The parts of a request that the rules may use. */
export interface Scene {
  kind: ModelRequest['purpose']['kind']
  who: string
  cycle_num: number
  role: string
  /** The goal or task, on one line. */
  objective: string
  tools: ReadonlyMap<string, ToolSpec>
  /** Tool calls since the objective, oldest first. */
  acts: readonly Act[]
  /** User messages since the objective, oldest first. */
  remarks: readonly string[]
  /** Remarks without a later answer. */
  unread: readonly string[]
  /** All text of the prompt, for goal generation. */
  prompt: string
  /** Returns a number in [0, 1) for a decision, fixed by the request and the name of the question. */
  draw(question: string): number
}

/** Reads a request: the objective, tool calls with their results, and user messages in between. */
export function readScene(request: ModelRequest, draw: (question: string) => number): Scene {
  const { messages, purpose, tools } = request
  const start = startOf(messages, purpose.kind)
  const after = messages.slice(start + 1)
  const lastAnswer = after.findLastIndex(message => message.role === 'assistant')
  const prompt = messages.map(message => message.content).join('\n')
  return {
    kind: purpose.kind,
    who: purpose.agent_id ?? 'no one in particular',
    cycle_num: purpose.cycle_num,
    role: lineOf(prompt, 'Role') ?? messages.find(message => message.role === 'system')?.content.slice(0, 500) ?? '',
    objective: objectiveOf(messages[start]?.content ?? ''),
    tools: new Map(tools.map(tool => [tool.name, tool])),
    acts: actsOf(after),
    remarks: remarksOf(after),
    unread: remarksOf(after.slice(lastAnswer + 1)),
    prompt,
    draw,
  }
}

/** Line numbers in the output of file tools, which are no part of the content. */
const ROW_NUMBER = /^ *(?:\d+|…)\t/gm
/** Prefix of an operator's message in the prompt. */
const NUDGE = /^messages? from the operator:\s*/i

/** A goal begins where it is stated; a task at the user's last message. */
function startOf(messages: readonly Message[], kind: Scene['kind']): number {
  const users = messages.flatMap(({ role }, at) => (role === 'user' ? [at] : []))
  if (kind !== 'goal_pursuit') return users.at(-1) ?? 0
  return users.find(at => lineOf(messages[at]!.content, 'Goal') !== undefined) ?? users[0] ?? 0
}

/** What stands around the instruction of a task: the opening of its conversation, and what the agent knows. */
const FRAME = /^This is your conversation with a person\..*\n\n|\n\n\[State when this message was sent\b[\s\S]*$/g

function objectiveOf(text: string): string {
  return lineOf(text, 'Goal') ?? oneLine(text.replace(FRAME, '')).slice(0, 500)
}

/** Returns what others said; of the loop's own notices only its question whether the goal is reached. */
function remarksOf(messages: readonly Message[]): string[] {
  const isRemark = ({ role, content, is_notice }: Message) =>
    role === 'user' && (!is_notice || isQuestionOfEnd(content))
  return messages.filter(isRemark).map(({ content }) => oneLine(content.replace(NUDGE, '')))
}

/** Returns whether a remark is the loop's own question after an answer without a tool call. */
export function isQuestionOfEnd(remark: string): boolean {
  return /finish_goal|are you (done|finished)/i.test(remark)
}

function actsOf(messages: readonly Message[]): Act[] {
  const results = new Map(messages.flatMap(each => (each.role === 'tool' ? [[each.tool_call_id, each] as const] : [])))
  return messages
    .flatMap(message => message.tool_calls ?? [])
    .flatMap(({ id, name, arguments: args }) => {
      const result = results.get(id)
      if (!result) return []
      const given = typeof args === 'object' && args !== null ? (args as Record<string, unknown>) : {}
      const failed = result.is_error ?? /^error\b/i.test(result.content)
      return [{ tool: name, args: given, result: result.content.replace(ROW_NUMBER, ''), failed }]
    })
}

/** Returns the text after `Label:` at the start of a line. */
export function lineOf(text: string, label: string): string | undefined {
  return new RegExp(`^[#* \\t]*${label}[*]*:[*]*[ \\t]*(\\S.*)$`, 'im').exec(text)?.[1]?.trim()
}

/** The items (`- text`) below a heading. */
export function itemsUnder(text: string, heading: RegExp): string[] {
  const lines = text.split('\n')
  const at = lines.findLastIndex(line => heading.test(line) && /^#|:\W*$/.test(line.trim()))
  if (at < 0) return []
  const items: string[] = []
  for (const line of lines.slice(at + 1)) {
    const item = /^\s*[-*]\s+(.*)$/.exec(line)?.[1]
    if (item !== undefined) items.push(item.trim())
    else if (line.trim() !== '' || items.length > 0) break
  }
  return items
}

export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

/** Returns text on one line in quotation marks, cut at `limit` characters. */
export function quote(text: string, limit = 120): string {
  const line = oneLine(text)
  return `“${line.length > limit ? `${line.slice(0, limit - 1)}…` : line}”`
}

/** Returns the first part of a text that looks like a workspace file. */
export function pathIn(text: string): string | undefined {
  const found = text.match(/(?<![\w./~\\-])[\w-]+(?:\/[\w.-]+)*\.(?:md|txt|csv|json|ya?ml|ts|js|py|html)\b/g) ?? []
  return found.find(path => !path.includes('..'))
}
