import { type AskedCall, MAX_TOOL_CALLS, type ModelEvent, type ModelRequest, type ToolSpec } from '../contract.ts'
import { mendArguments, textOfArguments } from './arguments.ts'
import { plain } from './fit.ts'
import { callsInText, type ParsedText } from './in-text.ts'
import { pythonCalls } from './python-calls.ts'
import { endOfLateReasoning, ReasoningSplitter } from './reasoning-splitter.ts'
import { TextGate } from './text-gate.ts'

/** Suffixes that some servers leave on a name: chat template tokens, a parenthesis, the number of the call. */
const TEMPLATE_REST = /(?:<\||\(|:\d+$).*$/s
/** Namespaces that models put before a name. */
const NAMESPACE = /^(?:functions?|tools?|default_api|api)[.:/]/

/** How an answer is read: no calls in its text, possible calls, or calls that the prompt asked for there. */
export type Reading = 'native' | 'either' | 'prompted'

/** Converts a provider's stream to events: extracts calls from the text and repairs calls. */
export class ToolCallReader {
  readonly #request: ModelRequest
  readonly #reading: Reading
  readonly #holding: TextGate | undefined
  readonly #thoughts = new ReasoningSplitter()
  /** Reasoning that the server separated from the text. */
  readonly #reasoning: string[] = []
  readonly #calls: AskedCall[] = []
  readonly #dropped = { calls: 0, chars: 0 }

  /** @param request the original request with its tools, even if the model was sent a different one */
  constructor(request: ModelRequest, reading: Reading) {
    this.#request = request
    this.#reading = reading
    // An answer in a required format may be JSON that only looks like a call.
    if (reading !== 'native' && request.tools.length > 0) this.#holding = new TextGate(this.#bareNames)
  }

  /**
   * Returns the events to pass on for one event. An empty text is passed on too, because it shows that the model is not
   * idle.
   */
  receive(event: ModelEvent): readonly ModelEvent[] {
    if (event.type === 'text') {
      const { text: came, chars = came.length } = event
      const text = this.#thoughts.push(came)
      if (!this.#holding && text === came) return [event]
      return [{ ...event, text: this.#holding ? this.#holding.push(text) : text, chars }]
    }
    if (event.type === 'reasoning') this.#reasoning.push(event.text)
    if (event.type === 'done') return [...this.#end(event.finish_reason === 'length'), event]
    if (event.type !== 'tool_call') return [event]
    const call = { id: event.id, name: event.name, arguments: textOfArguments(event.arguments) }
    if (this.#calls.length < MAX_TOOL_CALLS) this.#calls.push(call)
    else {
      this.#dropped.calls++
      this.#dropped.chars += call.name.length + call.arguments.length
    }
    return []
  }

  *#end(cut: boolean): Generator<ModelEvent> {
    const late = this.#thoughts.end()
    if (late) yield { type: 'text', text: this.#holding ? this.#holding.push(late) : late, chars: 0 }
    const all = this.#holding?.all ?? ''
    const isOpen = this.#calls.length === 0 && this.#holding !== undefined
    const { isUnclosed, reasoning: begun } = this.#thoughts
    const isSilent = isOpen && all.trim() === ''
    const thought = isSilent ? this.#readThought(isUnclosed ? begun : this.#reasoning.join(''), cut) : undefined
    const reasoning = isUnclosed && thought ? thought.text : begun
    if (reasoning) yield { type: 'reasoning', text: reasoning, chars: 0 }
    const spoken = thought ? { ...thought, text: '' } : isOpen && all ? this.#readCalls(all, cut) : undefined
    if (this.#holding) yield { type: 'text', text: this.#holding.rest(spoken?.text ?? all) }
    const calls = spoken ? spoken.calls.map(call => ({ id: '', ...call, repaired: this.#inText() })) : this.#calls
    for (const call of calls) yield { type: 'tool_call', ...repairCall(call, this.#request.tools, cut) }
    // Characters of calls in the text were already counted with the text.
    const dropped = spoken ? { calls: spoken.dropped, chars: 0 } : this.#dropped
    if (dropped.calls > 0) yield { type: 'dropped_calls', ...dropped }
  }

  #readCalls(all: string, cut: boolean) {
    const thoughts = endOfLateReasoning(all)?.end ?? 0
    const answer = all.slice(thoughts)
    const found = this.#readPython(answer) ?? callsInText(answer, { cut, bare: !this.#request.response_schema })
    if (!found) return undefined
    const calls = found.calls.slice(0, MAX_TOOL_CALLS)
    const text = all.slice(0, thoughts) + found.text
    const spoken = { text, calls, dropped: found.calls.length - calls.length + found.unread }
    if (this.#reading === 'prompted' || found.isMarked) return spoken
    // Without such markup, a model with native tool calls that names other tools is only writing about them.
    return spoken.calls.every(({ name }) => toolNamed(name, this.#request.tools)) ? spoken : undefined
  }

  /** Names of the tools whose calls may be the whole answer, without markup. */
  get #bareNames(): readonly string[] | undefined {
    return this.#request.response_schema ? undefined : this.#request.tools.map(({ name }) => name)
  }

  #readPython(answer: string): ParsedText | undefined {
    const calls = this.#bareNames && pythonCalls(answer)
    if (!calls?.every(({ name }) => this.#bareNames?.includes(name))) return undefined
    return { text: '', calls, unread: 0, isMarked: true, isLast: true }
  }

  /**
   * Reads the calls at the end of reasoning after which nothing was said: the model never closed it, or its server took
   * them for a part of it (vLLM, https://github.com/vllm-project/vllm/issues/39056). Earlier calls are only considered.
   */
  #readThought(reasoning: string, cut: boolean) {
    const found = callsInText(reasoning, { cut, bare: false })
    return found?.isMarked && found.isLast
      ? { text: found.text, calls: found.calls.slice(0, MAX_TOOL_CALLS), dropped: 0 }
      : undefined
  }

  #inText(): string[] {
    return this.#reading === 'prompted' ? [] : ['call_in_text']
  }
}

/** Repairs the name and the arguments of a call if only one reading is possible. */
function repairCall(call: AskedCall, tools: readonly ToolSpec[], cut: boolean): AskedCall {
  const tool = toolNamed(call.name, tools)
  const { repaired: before = [], ...plain } = call
  if (!tool) return before.length > 0 ? call : plain
  const repaired = [...before, ...(tool.name === call.name ? [] : ['name_spelling'])]
  const found = call.arguments.trim() === '' ? undefined : mendArguments(call.arguments, tool, cut)
  repaired.push(...(found?.repaired ?? []))
  return {
    id: call.id,
    name: tool.name,
    arguments: found?.arguments ?? call.arguments,
    ...(repaired.length > 0 ? { repaired } : {}),
  }
}

/**
 * Returns the tool with this name, or the only one that differs just in case, hyphens, underscores, namespace or chat
 * template remains. Undefined if there is none: names that are merely similar do not match.
 */
export function toolNamed<T extends { name: string }>(written: string, tools: readonly T[]): T | undefined {
  const exact = tools.find(({ name }) => name === written)
  if (exact || written.length > 200) return exact
  const bare = written.trim().replace(TEMPLATE_REST, '').replace(NAMESPACE, '')
  const alike = tools.filter(({ name }) => plain(name) === plain(bare))
  return tools.find(({ name }) => name === bare) ?? (alike.length === 1 ? alike[0] : undefined)
}
