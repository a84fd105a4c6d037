/** Marks between which the templates of known models put their reasoning: Qwen, DeepSeek and others, Seed, Magistral, Kimi. */
const MARKS = [
  ['<think>', '</think>'],
  ['<thinking>', '</thinking>'],
  ['<reasoning>', '</reasoning>'],
  ['<seed:think>', '</seed:think>'],
  ['[THINK]', '[/THINK]'],
  ['◁think▷', '◁/think▷'],
] as const

/**
 * Parts the reasoning that a model writes into the beginning of its text from the answer, while it streams. Marks further on
 * are text: a model may well write about them.
 */
export class ReasoningSplitter {
  /** What was reasoned, without its marks. */
  reasoning = ''
  #held = ''
  /** What ends the reasoning; null where there is none, or it is over. */
  #closing: string | null | undefined
  /** White space between the reasoning and the answer belongs to neither. */
  #isGap = false

  /** @returns the part of the answer that is known to be none of the reasoning */
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

  /** The text is over. @returns what was held back of it */
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
