/** Marks around the reasoning in templates of known models: Qwen, DeepSeek and others, Seed, Magistral, Kimi. */
const MARKS = [
  ['<think>', '</think>'],
  ['<thinking>', '</thinking>'],
  ['<reasoning>', '</reasoning>'],
  ['<seed:think>', '</seed:think>'],
  ['[THINK]', '[/THINK]'],
  ['◁think▷', '◁/think▷'],
] as const

/** Characters of a text that are searched for the end of reasoning. */
const SEARCHED = 256 * 1024

/**
 * Returns where reasoning ends that the chat template has opened, so that the text has only its closing mark, on a line
 * of its own or at the end of one. Quoted marks are text.
 */
export function endOfLateReasoning(text: string): { start: number; end: number } | undefined {
  for (const [opening, closing] of MARKS) {
    const start = text.slice(0, SEARCHED).indexOf(closing)
    if (start < 0) continue
    const before = text.slice(0, start)
    const isQuoted = before.includes(opening) || before.endsWith('`') || before.split('```').length % 2 === 0
    const end = start + closing.length
    if (!isQuoted && /^[ \t]*(?:\n|$|<tool_call>|\[TOOL_CALLS\])/.test(text.slice(end, end + 100)))
      return { start, end }
  }
  return undefined
}

/**
 * Separates reasoning at the beginning of a model's streamed text from the answer. Later marks are text, because a
 * model may write about them.
 */
export class ReasoningSplitter {
  /** Reasoning without its marks. */
  reasoning = ''
  #held = ''
  /** Mark that ends the reasoning; null if there is no reasoning or it has ended. */
  #closing: string | null | undefined
  /** Whether whitespace between the reasoning and the answer is being skipped. */
  #isGap = false

  /** Whether the reasoning has begun and not ended. */
  get isUnclosed(): boolean {
    return typeof this.#closing === 'string'
  }

  /**
   * Adds the next piece.
   * @returns the part that certainly belongs to the answer
   */
  push(text: string): string {
    if (text === '') return ''
    if (this.#closing === null) return this.#answer(text)
    this.#held += text
    if (this.#closing === undefined) {
      const begun = this.#held.trimStart()
      const mark = MARKS.find(([opening]) => begun.startsWith(opening))
      if (!mark) return MARKS.some(([opening]) => opening.startsWith(begun)) ? '' : this.#release()
      this.#closing = mark[1]
      this.#held = begun.slice(mark[0].length)
    }
    const end = this.#held.indexOf(this.#closing)
    if (end < 0) return ''
    this.reasoning = this.#held.slice(0, end).trim()
    const rest = this.#held.slice(end + this.#closing.length)
    this.#closing = null
    this.#held = ''
    this.#isGap = true
    return this.#answer(rest)
  }

  /**
   * Ends the text.
   * @returns the part that was held back
   */
  end(): string {
    if (this.#closing === undefined) return this.#release()
    if (this.#closing !== null) this.reasoning = this.#held.trim()
    return ''
  }

  #release(): string {
    const text = this.#held
    this.#closing = null
    this.#held = ''
    return text
  }

  #answer(text: string): string {
    if (!this.#isGap) return text
    const answer = text.trimStart()
    this.#isGap = answer === ''
    return answer
  }
}
