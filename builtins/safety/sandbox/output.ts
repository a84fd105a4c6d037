import { isUtf8 } from 'node:buffer'
import { gap } from '#lib/output-limit'
import { beginningWithin, endWithin, textTokens } from '#lib/text-tokens'
import type { ProcessOutput } from './contract.ts'

/** Keeps the beginning and the end of a program's output, and counts the bytes between them. */
export class Output {
  readonly #most: number
  readonly #head: Buffer[] = []
  readonly #tail: Buffer[] = []
  #headBytes = 0
  #tailBytes = 0
  #bytes = 0

  /** @param most maximum number of bytes kept from each end */
  constructor(most: number) {
    this.#most = most
  }

  add(chunk: Buffer): void {
    this.#bytes += chunk.length
    const first = chunk.subarray(0, this.#most - this.#headBytes)
    if (first.length > 0) {
      this.#head.push(first)
      this.#headBytes += first.length
    }
    const rest = chunk.subarray(first.length)
    if (rest.length === 0) return
    this.#tail.push(rest)
    this.#tailBytes += rest.length
    while (this.#tailBytes - this.#tail[0]!.length >= this.#most) this.#tailBytes -= this.#tail.shift()!.length
  }

  end(): ProcessOutput {
    const tail = Buffer.concat(this.#tail)
    return {
      head: Buffer.concat(this.#head),
      tail: tail.subarray(Math.max(0, tail.length - this.#most)),
      bytes: this.#bytes,
    }
  }
}

/** Returns the kept output as text, with a note for the omitted middle; of binary output only its size. */
export function textOf(output: ProcessOutput): string {
  const { head, tail, bytes } = output
  // Text may hold zero bytes too, as the names that `find -print0` writes.
  if (head.includes(0) && !isUtf8(head)) return `[Binary output of ${bytes} bytes, which is not shown.]`
  const missing = missingBytes(output)
  const text = missing === 0 ? Buffer.concat([head, tail]).toString() : `${head}${gap(`${missing} bytes`)}${tail}`
  return printable(text)
}

/** Returns the number of bytes that were not kept. */
export function missingBytes({ head, tail, bytes }: ProcessOutput): number {
  return bytes - head.length - tail.length
}

/**
 * Shortens a text to this number of tokens; keeps its beginning and its end, where programs report errors.
 * @param missing number of bytes that its middle lacks already
 */
export function cutMiddle(text: string, tokens: number, missing = 0): string {
  if (textTokens(text) <= tokens) return text
  const first = beginningWithin(text, tokens * 0.6)
  const last = endWithin(text, tokens * 0.4)
  const cut = `${text.length - first.length - last.length} characters`
  return `${first}${gap(missing === 0 ? cut : `${cut} and ${missing} bytes`)}${last}`
}

/** Returns text without terminal escapes and control characters. */
export function printable(text: string): string {
  const plain = text.replace(/[^\P{Cc}\t\n\r]\[[0-9;?]{0,32}[A-Za-z]/gu, '').replace(/\r\n/g, '\n')
  return plain.replace(/[^\P{Cc}\t\n\r]/gu, '')
}
