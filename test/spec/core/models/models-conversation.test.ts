import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { rulesFor, wellFormed } from '#core/models/context/conversation'
import { fitRequest } from '#core/models/context/fit'
import type { Message, ModelRequest } from '#core/models/contract'
import { anthropicRequest } from '#core/models/providers/anthropic-wire'
import { wireRequest } from '#core/models/providers/openai-wire'
import type { ModelRequestBody } from '../../../support/index.ts'
import { faultIn, type MessagesRequestBody } from '../../../support/model/messages-rules.ts'
import { type Dialect, refusalOf } from '../../../support/model/wire-rules.ts'

const MODELS: Record<Dialect, string> = {
  common: 'openai:scripted-1',
  openai: 'openai:gpt-5.4',
  mistral: 'mistral:mistral-large',
  gemini: 'gemini:gemini-3-pro',
  deepseek: 'deepseek:deepseek-v4',
  vllm: 'vllm:google/gemma-3-27b',
  llamacpp: 'llamacpp:mistral-nemo',
  ollama: 'ollama:llama3.1',
}

const words = fc.constantFrom('', ' ', 'Look at it.', 'x'.repeat(500), '🐑 und Wölfe', '\n')
const id = fc.constantFrom('call_1', 'call_2', 'call:3', 'tool_ab12cd34', 'a'.repeat(70), '')
const calls = fc.array(
  fc.record({ id, name: fc.constantFrom('read', 'write'), arguments: fc.constant({ path: 'a' }) }),
  {
    maxLength: 3,
  },
)
const message: fc.Arbitrary<Message> = fc.oneof(
  fc.record({ role: fc.constant('user' as const), content: words }),
  fc.record({ role: fc.constant('system' as const), content: words }),
  fc.record({ role: fc.constant('assistant' as const), content: words }),
  fc.record({ role: fc.constant('assistant' as const), content: words, tool_calls: calls }),
  fc.record({ role: fc.constant('tool' as const), content: words, tool_call_id: id, name: fc.constant('read') }),
)
/** Transcripts that no agent writes: with missing, repeated and orphaned results, and with empty texts. */
const transcript = fc.array(message, { maxLength: 12 })

const RUNS = { numRuns: 3_000 }

function requestOf(messages: readonly Message[], model: string): ModelRequest {
  return {
    model: model.slice(model.indexOf(':') + 1),
    messages,
    tools: [],
    temperature: 0,
    max_tokens: 100,
    purpose: { agent_id: 'a', goal_id: null, cycle_num: 1, kind: 'goal_pursuit' },
  }
}

describe('a conversation as it is sent', () => {
  it.each(Object.entries(MODELS) as [Dialect, string][])('is accepted by the rules of %s', (dialect, model) => {
    fc.assert(
      fc.property(transcript, said => {
        const request = requestOf(wellFormed(said, rulesFor({ id: model })), model)
        const refusal = refusalOf(wireRequest(request) as ModelRequestBody, { dialect })
        expect(refusal?.message).toBeUndefined()
      }),
      RUNS,
    )
  })

  it('is accepted by the rules of Anthropic', () => {
    fc.assert(
      fc.property(transcript, said => {
        const body = anthropicRequest(requestOf(wellFormed(said), 'anthropic:claude-sonnet-4-6'))
        expect(faultIn(body as unknown as MessagesRequestBody)).toBeUndefined()
      }),
      RUNS,
    )
  })

  it('is accepted after it was shortened to a window of any size', () => {
    fc.assert(
      fc.property(transcript, fc.integer({ min: 300, max: 2_000 }), (said, window) => {
        const limits = { window, max_output_tokens: null, ratio: 1 }
        const { messages } = fitRequest(requestOf(said, MODELS.common), limits, {
          context_limit: 256_000,
          context_full: 0.75,
          context_target: 0.45,
        })
        const request = requestOf(wellFormed(messages), MODELS.common)
        expect(refusalOf(wireRequest(request) as ModelRequestBody)?.message).toBeUndefined()
      }),
      RUNS,
    )
  })

  it('contains all that users and assistants said', () => {
    fc.assert(
      fc.property(transcript, said => {
        const sent = wellFormed(said)
          .map(({ content }) => content)
          .join('\n')
        for (const { role, content } of said) {
          if (role !== 'tool' && content.trim() !== '') expect(sent).toContain(content)
        }
      }),
      RUNS,
    )
  })

  it('stays unchanged when it is well-formed', () => {
    const said: Message[] = [
      { role: 'system', content: 'You are worker.' },
      { role: 'user', content: 'Goal: look' },
      { role: 'assistant', content: '', tool_calls: [{ id: 'call_1', name: 'read', arguments: { path: 'a' } }] },
      { role: 'tool', content: 'hello', tool_call_id: 'call_1', name: 'read' },
    ]
    expect(wellFormed(said)).toEqual(said)
  })
})
