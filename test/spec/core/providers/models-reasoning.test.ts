import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ReasoningSplitter } from '#core/models/repair/reasoning-splitter'
import { text } from '../../../support/index.ts'
import { testHostForModels } from '../models/models-host.ts'

/** Reads a text that arrives in these pieces. */
function read(pieces: readonly string[]) {
  const thoughts = new ReasoningSplitter()
  const shown = pieces.map(piece => thoughts.push(piece)).join('')
  return { answer: shown + thoughts.end(), reasoning: thoughts.reasoning }
}

describe('reasoning that a model writes into its text', () => {
  it.each([
    ['<think>First I look.</think>\n\nIt is blue.', 'It is blue.', 'First I look.'],
    ['\n<think>\n</think>\nIt is blue.', 'It is blue.', ''],
    ['[THINK]Hm.[/THINK]It is blue.', 'It is blue.', 'Hm.'],
    ['<thinking>cut off in the mid', '', 'cut off in the mid'],
    ['It is <think>blue</think>.', 'It is <think>blue</think>.', ''],
    ['<thin', '<thin', ''],
    ['<thinker> is a word', '<thinker> is a word', ''],
    ['', '', ''],
  ])('is separated from the answer, however the stream is cut: %j', (said, answer, reasoning) => {
    expect(read([said])).toEqual({ answer, reasoning })
    expect(read([...said])).toEqual({ answer, reasoning })
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: said.length }), { maxLength: 5 }), cuts => {
        const at = [0, ...cuts.toSorted((a, b) => a - b), said.length]
        const pieces = at.slice(1).map((end, n) => said.slice(at[n], end))
        expect(read(pieces)).toEqual({ answer, reasoning })
      }),
    )
  })

  it('is neither shown nor part of the answer, and its tokens are paid for', async () => {
    const { call, server } = await testHostForModels([text('<think>Let me see.</think>It is blue.', { usage: null })])
    const shown: string[] = []
    const answer = await call({ onText: piece => shown.push(piece) })
    expect(answer).toMatchObject({ text: 'It is blue.', reasoning: 'Let me see.' })
    expect(shown.join('')).toBe('It is blue.')
    expect(answer.spend.output_tokens).toBe(server.bill[0]!.output_tokens)
  })

  it('that the chat template began, so that only its end is in the text, is taken out of the text', async () => {
    const { call } = await testHostForModels([
      text('Let me see.\n</think>\n\nIt is blue.'),
      text('The mark `</think>` ends it.\n```\n</think>\n```\nSo it is.'),
    ])
    const shown: string[] = []
    const answer = await call({ onText: piece => shown.push(piece), onReset: () => shown.splice(0) })
    expect(answer).toMatchObject({ text: 'It is blue.', reasoning: 'Let me see.' })
    expect(shown.join('')).toBe('It is blue.')
    expect(await call()).toMatchObject({ text: expect.stringMatching(/^The mark[\s\S]*So it is\.$/) })
  })

  it('alone is not an answer', async () => {
    const { call } = await testHostForModels([text('<think>I should say something.</think>')])
    expect(await call()).toMatchObject({ text: '', reasoning: 'I should say something.' })
  })
})
