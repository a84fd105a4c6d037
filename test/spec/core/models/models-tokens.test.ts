import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { ModelConfig } from '#core/models/config'
import { fitRequest } from '#core/models/context/fit'
import type { Message } from '#core/models/contract'
import { textTokens } from '#lib/text-tokens'
import { text } from '../../../support/index.ts'
import { PURPOSE, testHostForModels } from './models-host.ts'

interface CountedText {
  kind: string
  text: string
  tokens: Record<string, number>
}

const TEXTS = JSON.parse(
  await readFile(new URL('../../../support/model/token-counts.json', import.meta.url), 'utf8'),
) as CountedText[]
const KINDS = [...new Set(TEXTS.map(({ kind }) => kind))]
const TOKENIZERS = Object.keys(TEXTS[0]!.tokens)
const ofKind = (wanted: string) => TEXTS.filter(({ kind }) => kind === wanted)

/** Returns the estimate of some texts relative to the count of a tokenizer. */
function ratio(texts: readonly CountedText[], tokenizer: string): number {
  const estimated = texts.reduce((sum, each) => sum + textTokens(each.text), 0)
  return estimated / texts.reduce((sum, { tokens }) => sum + tokens[tokenizer]!, 0)
}

/** Bounds of the estimate relative to the count of each tokenizer. */
const BOUNDS: Record<string, [low: number, high: number]> = {
  english: [0.95, 1.3],
  code: [0.9, 1.2],
  json: [0.9, 1.25],
  logs: [0.95, 1.2],
  german: [0.8, 1.3],
  chinese: [0.95, 1.5],
  // The newest tokenizers need half as many tokens as the older ones.
  russian: [0.75, 1.75],
  base64: [0.9, 1.1],
  hex: [0.95, 1.2],
  numbers: [0.85, 1.1],
}

describe('the token estimate', () => {
  it.each(KINDS)('for %s is close to what four tokenizers count', kind => {
    const [low, high] = BOUNDS[kind]!
    for (const tokenizer of TOKENIZERS) {
      const found = ratio(ofKind(kind), tokenizer)
      expect(found, tokenizer).toBeGreaterThan(low)
      expect(found, tokenizer).toBeLessThan(high)
    }
  })

  it.each(TOKENIZERS)('for all texts together is within a fifth of what %s counts', tokenizer => {
    expect(Math.abs(ratio(TEXTS, tokenizer) - 1)).toBeLessThan(0.2)
  })

  it('for a long text covers all parts of it', () => {
    const words = 'word '.repeat(10_000)
    const hashes = 'a1b2c3d4e5'.repeat(5_000)
    const sum = textTokens(words) + textTokens(hashes)
    for (const both of [words + hashes, hashes + words]) {
      expect(Math.abs(textTokens(both) / sum - 1)).toBeLessThan(0.2)
    }
  })

  it('for a megabyte takes milliseconds', () => {
    const long = TEXTS.map(each => each.text)
      .join('\n')
      .repeat(30)
    const began = process.cpuUsage()
    for (let n = 0; n < 20; n++) textTokens(long + n)
    const { user, system } = process.cpuUsage(began)
    // About 3 ms; many times that on slow machines, and hundreds when it is not linear.
    expect((user + system) / 20_000).toBeLessThan(30)
  })
})

const WINDOW = 8_192
const MAX_TOKENS = 1_024
const userMessage = ({ text }: CountedText): Message => ({ role: 'user', content: text })

describe.each(TOKENIZERS)('a conversation that is estimated to fit, counted by %s', tokenizer => {
  it.each(KINDS)('fits into the window: %s', kind => {
    const texts = ofKind(kind)
    const settings = ModelConfig.parse({})
    const limits = { window: WINDOW, max_output_tokens: null, ratio: 1 }
    const messages: Message[] = []
    let counted = 0
    for (let n = 0; ; n++) {
      const next = texts[n % texts.length]!
      messages.push(userMessage(next))
      const { cleared, digested, cut } = fitRequest({ messages, tools: [], max_tokens: MAX_TOKENS }, limits, settings)
      if (cleared + digested + cut > 0) break
      counted += next.tokens[tokenizer]! + 4
    }
    expect(counted + MAX_TOKENS).toBeLessThanOrEqual(WINDOW)
    // Nor is it shortened long before that is needed.
    expect(counted + MAX_TOKENS).toBeGreaterThan(WINDOW / 3)
  })

  it.each(KINDS)('has its estimate corrected by the usage of the request before: %s', async kind => {
    const texts = ofKind(kind)
    const half = Math.ceil(texts.length / 2)
    const count = (some: readonly CountedText[]) => some.reduce((sum, { tokens }) => sum + tokens[tokenizer]! + 4, 0)
    const usage = { prompt_tokens: count(texts.slice(0, half)), completion_tokens: 1 }
    const { call, models } = await testHostForModels(() => text('Done.', { usage }))
    const asked = { model: 'openai:scripted-1', tools: [], max_tokens: MAX_TOKENS }
    await call({ ...asked, messages: texts.slice(0, half).map(userMessage) })
    const { sections, ratio } = await models.measure!({ ...asked, messages: texts.map(userMessage), purpose: PURPOSE })
    const corrected = (sections.messages * ratio) / count(texts)
    expect(corrected).toBeGreaterThan(0.85)
    expect(corrected).toBeLessThan(1.3)
  })
})
