/** Marks around the reasoning in templates of known models: Qwen, DeepSeek and others, Seed, Magistral, Kimi. */
const MARKS = [
  ['<think>', '</think>'],
  ['<thinking>', '</thinking>'],
  ['<reasoning>', '</reasoning>'],
  ['<seed:think>', '</seed:think>'],
  ['[THINK]', '[/THINK]'],
  ['◁think▷', '◁/think▷'],
] as const

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
