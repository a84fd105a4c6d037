import { pythonCalls } from './python-calls.ts'
import { brokenCalls, callsOf, elementsOf, endOfMatch, type TextCall, valuesAt } from './shapes.ts'

/**
 * Maximum number of blocks that are read; further ones are only counted. Generous, because some blocks contain no call.
 */
const MAX_BLOCKS = 64

/**
 * Format in which models write calls into their text: pattern that opens a block, the tool's name if it is there, and
 * pattern that closes it.
 */
interface Style {
  open: RegExp
  close: RegExp
  /** Set where the format is also common in texts that call nothing. */
  isPlain?: true
}

const NAME = '([\\w.:/-]{1,100})'

const STYLES: readonly Style[] = [
  // The format that our prompted protocol asks for, and that of Gemma.
  { open: /```tool_(?:calls?|code)[ \t]*\n?/y, close: /\n[ \t]{0,20}```|```(?=\n|$)/g, isPlain: true },
  // Hermes, Qwen, GLM
  { open: /<tool_call>/y, close: /<\/tool_call>/g },
  // Llama 3, Qwen Coder
  { open: new RegExp(`<function=["']?${NAME}["']?>`, 'y'), close: /<\/function>/g },
  { open: new RegExp(`<invoke\\s+name=["']${NAME}["']\\s*>`, 'y'), close: /<\/invoke>/g },
  // Mistral
  {
    open: new RegExp(`\\[TOOL_CALLS\\]\\s*${NAME}(?:\\[CALL_ID\\]\\w*)?(?:\\[ARGS\\])?(?=\\{)`, 'y'),
    close: /(?=\[TOOL_CALLS\])|$/g,
  },
  { open: /\[TOOL_CALLS\]/y, close: /(?=\[TOOL_CALLS\])|$/g },
  // Llama 3.1
  { open: /<\|python_tag\|>/y, close: /<\|eom_id\|>|<\|eot_id\|>|$/g },
  // LM Studio, for models without a format of their own
  { open: /\[TOOL_REQUEST\]/y, close: /\[END_TOOL_REQUEST\]/g },
  // LFM2
  { open: /<\|tool_call_start\|>/y, close: /<\|tool_call_end\|>/g },
  // Granite, Phi, Firefunction
  { open: /<\|tool_calls?\|>|<tool_calls>|functools(?=\[)/y, close: /<\|\/tool_calls?\|>|<\/tool_calls>|$/g },
  // DeepSeek
  {
    open: new RegExp(
      `<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?${NAME}(?:<｜tool▁sep｜>)?\\s*(?:\`\`\`json)?`,
      'y',
    ),
    close: /(?:\s?```\s?)?<｜tool▁call▁end｜>/g,
  },
  // Kimi
  {
    open: new RegExp(`<\\|tool_call_begin\\|>${NAME}\\s*<\\|tool_call_argument_begin\\|>`, 'y'),
    close: /<\|tool_call_end\|>/g,
  },
  // gpt-oss
  {
    open: new RegExp(`(?:<\\|start\\|>assistant)?<\\|channel\\|>\\w+ to=${NAME}[^\\n{]{0,60}<\\|message\\|>`, 'y'),
    close: /<\|call\|>|$/g,
  },
  // ReAct prompts
  { open: new RegExp(`Action: *${NAME}[ \\t]*\\n+Action Input:`, 'y'), close: /\n(?=Observation:)|$/g, isPlain: true },
]

/** Text that may surround and separate calls. */
const WRAPPING =
  '(?:<\\/?function_calls>|<\\/?tool_calls>|<｜tool▁calls▁(?:begin|end)｜>|<\\|tool_calls_section_(?:begin|end)\\|>|\\s)*'
const BETWEEN = new RegExp(WRAPPING, 'y')
const AT_THE_END = new RegExp(`${WRAPPING}$`)
/** Characters of the tail that are checked; longer than any wrapping. */
const TAIL = 200

/** Positions where a call may begin, or where code or reasoning begins that may only quote one. */
const LANDMARK =
  /```|`|<think>|<tool_call|<function=|<invoke|\[TOOL_CALLS\]|\[TOOL_REQUEST\]|<\|[a-z]|functools\[|<｜tool|(?<=^|\n)Action:/g

export interface ParsedText {
  /** Text before the first call. */
  text: string
  calls: TextCall[]
  /** Number of unread blocks after these calls. */
  unread: number
  /** Whether the markup leaves no doubt that a call is meant, whatever tool it names. */
  isMarked: boolean
  /** Whether nothing follows the calls. */
  isLast: boolean
}

/**
 * Returns the calls that a model wrote into its text, as happens when its server does not know its format; undefined if
 * there are none. Ignores calls in code or in `<think>`. Text after a call was written without knowing its result, so
 * only calls that follow directly count. Runs in linear time.
 * @param cut the answer stopped at its limit: an unclosed block is no call then
 * @param bare whether an answer that consists only of JSON in the form of a call is one
 */
export function callsInText(text: string, { cut, bare }: { cut: boolean; bare: boolean }): ParsedText | undefined {
  LANDMARK.lastIndex = 0
  const blocks = { left: MAX_BLOCKS }
  for (let mark = LANDMARK.exec(text); mark; mark = LANDMARK.exec(text)) {
    const at = mark.index
    let block = blockAt(text, at, cut, blocks)
    if (!block) {
      LANDMARK.lastIndex = hiddenUntil(text, at, mark[0])
      continue
    }
    const calls: TextCall[] = []
    let last = block
    while (block) {
      last = block
      calls.push(...block.calls)
      block = blockAt(text, endOfMatch(BETWEEN, text, block.end), cut, blocks)
    }
    const unread = blocks.left < 0 ? openingsIn(text.slice(last.end), last.style) : 0
    const isLast = endOfMatch(BETWEEN, text, last.end) === text.length
    return { text: withoutWrapping(text.slice(0, at)), calls, unread, isMarked: !last.style.isPlain, isLast }
  }
  return bare ? bareCalls(text) : undefined
}

function blockAt(
  text: string,
  at: number,
  cut: boolean,
  blocks: { left: number },
): { calls: TextCall[]; end: number; style: Style } | undefined {
  for (const style of STYLES) {
    const { open, close } = style
    open.lastIndex = at
    const opened = open.exec(text)
    if (!opened) continue
    if (blocks.left-- <= 0) return undefined
    const start = at + opened[0].length
    const name = opened[1]
    const { values, end: valuesEnd } = valuesAt(text, start)
    // Searches for the end only after the parsed values, because arguments may contain text that looks like it.
    close.lastIndex = values.length > 0 ? valuesEnd : start
    const closed = close.exec(text)
    if (!closed && cut) return undefined
    const bodyEnd = closed?.index ?? text.length
    const end = closed ? closed.index + closed[0].length : text.length
    const calls = callsIn(text.slice(start, bodyEnd), name, values)
    return calls && { calls, end, style }
  }
  return undefined
}

function openingsIn(text: string, { open }: Style): number {
  return text.match(new RegExp(open.source, 'g'))?.length ?? 0
}

function callsIn(body: string, name: string | undefined, values: readonly unknown[]): TextCall[] | undefined {
  const elements = /<(?:parameter|arg_key)\b/.test(body) ? elementsOf(body) : undefined
  if (name !== undefined) return [{ name, arguments: elements ?? body.trim() }]
  const inner = /^\s*<function=["']?([\w.:/-]{1,100})["']?>([\s\S]*)$/.exec(body)
  if (inner?.[1]) return [{ name: inner[1], arguments: elements ?? inner[2]!.replace(/<\/function>\s*$/, '').trim() }]
  const first = /^\s*([\w.:/-]{1,100})\s*</.exec(body)?.[1]
  if (elements && first) return [{ name: first, arguments: elements }]
  return (values.length > 0 ? callsOf(values, false) : undefined) ?? pythonCalls(body) ?? brokenCalls(body)
}

/** Returns the position after the code or reasoning that a landmark begins. */
function hiddenUntil(text: string, at: number, mark: string): number {
  const after = at + mark.length
  if (mark === '```') return endOf(text, '\n```', after) ?? text.length
  if (mark === '<think>') return endOf(text, '</think>', after) ?? text.length
  if (mark !== '`') return after
  const closing = text.indexOf('`', after)
  return closing > 0 && !text.slice(after, closing).includes('\n') ? closing + 1 : after
}

function endOf(text: string, mark: string, from: number): number | undefined {
  const at = text.indexOf(mark, from)
  return at < 0 ? undefined : at + mark.length
}

function withoutWrapping(text: string): string {
  return text.slice(0, -TAIL) + text.slice(-TAIL).replace(AT_THE_END, '')
}

/** Returns the calls of an answer that consists only of their JSON, or ends in a code fence with it. */
function bareCalls(text: string): ParsedText | undefined {
  const thought = /^\s*<think>/.test(text) ? (endOf(text, '</think>', 0) ?? text.length) : 0
  const answer = text.slice(thought).trim()
  const fence = answer.endsWith('```') ? lastFence(answer) : undefined
  const body = fence ? answer.slice(fence.start, -3).trim() : answer
  if (!/^[{[]/.test(body)) return undefined
  const { values, end } = valuesAt(body, 0)
  const calls = end === body.length ? callsOf(values, true) : undefined
  return (
    calls && { text: fence ? answer.slice(0, fence.at).trimEnd() : '', calls, unread: 0, isMarked: false, isLast: true }
  )
}

/** Returns where the final code fence begins, if it contains JSON. */
function lastFence(text: string): { at: number; start: number } | undefined {
  const at = text.lastIndexOf('```', text.length - 4)
  const opened = at < 0 ? undefined : /^```(?:json)?[ \t]{0,20}\n/.exec(text.slice(at, at + 30))
  return opened ? { at, start: at + opened[0].length } : undefined
}
