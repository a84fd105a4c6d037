import type { ModelCall } from '../contract.ts'

/**
 * The text that a caller was shown, over all attempts and models; at the end it equals the answer's text. Text of an
 * attempt that broke off stays until the next attempt has text to replace it.
 */
export class ShownText {
  /** Text shown since the answer began. */
  text = ''
  readonly #onText: ModelCall['onText']
  readonly #onReset: ModelCall['onReset']
  /** Whether the shown text is from an attempt that broke off. */
  #isStale = false
  /** Whether the caller cannot take back shown text, so that nothing more is added. */
  #isStuck = false
  /** First half of a surrogate pair, held back until the second half arrives. */
  #half = ''

  constructor({ onText, onReset }: Pick<ModelCall, 'onText' | 'onReset'>) {
    this.#onText = onText
    this.#onReset = onReset
  }

  /** Marks the shown text as that of an earlier attempt. */
  beginAttempt(): void {
    this.#half = ''
    this.#isStale = this.text !== ''
  }

  show(piece: string): void {
    if (this.#isStale) this.#takeBack()
    const whole = this.#half + piece
    this.#half = /[\ud800-\udbff]$/.exec(whole)?.[0] ?? ''
    const text = whole.slice(0, whole.length - this.#half.length).toWellFormed()
    if (text === '' || !this.#onText || this.#isStuck) return
    this.text += text
    this.#onText(text)
  }

  /** Corrects the shown text to the complete answer. */
  end(text: string): void {
    this.#half = ''
    if (this.#isStale || !text.startsWith(this.text)) this.#takeBack()
    this.show(text.slice(this.text.length))
  }

  #takeBack(): void {
    this.#isStale = false
    if (!this.#onReset) this.#isStuck = true
    if (this.#isStuck) return
    this.text = ''
    this.#onReset?.()
  }
}
