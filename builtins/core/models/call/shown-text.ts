import type { ModelCall } from '../contract.ts'

/**
 * What a caller was shown of the answer to its call, over all attempts and models: in the end it is the answer's text. What
 * an attempt showed that broke off stays until the next one has something in its place.
 */
export class ShownText {
  /** Shown since the answer began. */
  text = ''
  readonly #onText: ModelCall['onText']
  readonly #onReset: ModelCall['onReset']
  /** An attempt showed text and broke off. */
  #isStale = false
  /** The caller cannot take back what it shows, so that nothing more is added to it. */
  #isStuck = false
  /** Half of a character, which is no text before its other half has come. */
  #half = ''

  constructor({ onText, onReset }: Pick<ModelCall, 'onText' | 'onReset'>) {
    this.#onText = onText
    this.#onReset = onReset
  }

  /** Another attempt begins. */
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

  /** The answer is whole: what was shown of it becomes its text. */
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
