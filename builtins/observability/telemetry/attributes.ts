import type { Attributes } from '@opentelemetry/api'
import type { Message, ModelAnswer, ObservedCall } from '#core/models/contract'

/**
 * Names follow https://opentelemetry.io/docs/specs/semconv/gen-ai/; attributes that are not defined there begin with
 * `svc.`.
 */

/** Splits a model id, such as `provider:model` or `sim/rules-1`, into its two parts. */
export function modelOf(id: string): { provider: string; model: string } {
  const [, provider = 'unknown', model = id] = /^([^:/]+)[:/](.*)$/s.exec(id) ?? []
  return { provider, model }
}

/**
 * Returns the attributes of an agent. Its name is its id without the random suffix: the preset, or the name that a user
 * chose.
 */
export function agentAttributes(agent_id: string): Attributes {
  return { 'gen_ai.agent.id': agent_id, 'gen_ai.agent.name': nameOf(agent_id) }
}

export function nameOf(agent_id: string): string {
  return agent_id.replace(/-[0-9a-f]{8}$/, '')
}

export function callAttributes({ call_id, model: id, call }: ObservedCall): Attributes {
  const { provider, model } = modelOf(id)
  const { agent_id, goal_id, task_id, kind } = call.purpose
  return {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': provider,
    'gen_ai.request.model': model,
    'gen_ai.request.temperature': call.temperature,
    'gen_ai.request.max_tokens': call.max_tokens,
    ...(call.response_schema ? { 'gen_ai.output.type': 'json' } : {}),
    ...(agent_id === null ? {} : agentAttributes(agent_id)),
    'svc.call.id': call_id,
    'svc.call.kind': kind,
    ...(goal_id === null ? {} : { 'svc.goal.id': goal_id }),
    ...(task_id === undefined ? {} : { 'svc.task.id': task_id }),
  }
}

export function answerAttributes({ finish_reason, spend }: ModelAnswer): Attributes {
  return { 'gen_ai.response.finish_reasons': [finish_reason], ...spendAttributes(spend) }
}

export function spendAttributes(spend: ModelAnswer['spend']): Attributes {
  return {
    'gen_ai.response.model': modelOf(spend.model).model,
    'gen_ai.usage.input_tokens': spend.input_tokens,
    'gen_ai.usage.output_tokens': spend.output_tokens,
    ...(spend.cached_tokens === undefined ? {} : { 'gen_ai.usage.cache_read.input_tokens': spend.cached_tokens }),
    ...(spend.cache_write_tokens === undefined
      ? {}
      : { 'gen_ai.usage.cache_creation.input_tokens': spend.cache_write_tokens }),
    'svc.cost.usd': spend.cost_micros / 1e6,
    'svc.call.attempts': spend.attempts,
    'svc.call.estimated': spend.estimated,
    ...(spend.failover_from === undefined ? {} : { 'svc.call.failover_from': spend.failover_from }),
  }
}

/**
 * Maximum length of a string, in characters; longer ones are cut, because collectors accept only a few megabytes at
 * once.
 */
const LONGEST = 32_000
/** Maximum number of newest prompt messages in an attribute. */
const MOST_MESSAGES = 200

/**
 * Returns the content of a request as attributes, in the form of the conventions.
 * @param hide masks the values of secrets in JSON
 */
export function inputContent({ call }: ObservedCall, hide: (json: string) => string): Attributes {
  const [system, rest] = [call.messages.filter(isSystem), call.messages.filter(message => !isSystem(message))]
  return {
    'gen_ai.system_instructions': toJsonList(
      system.map(({ content }) => textPart(content)),
      hide,
    ),
    'gen_ai.input.messages': toJsonList(rest.slice(-MOST_MESSAGES).map(messageOf), hide),
    'gen_ai.tool.definitions': toJsonList(
      call.tools.map(({ name, description }) => ({ type: 'function', name, description })),
      hide,
    ),
  }
}

export function outputContent({ text, tool_calls, finish_reason }: ModelAnswer, hide: (json: string) => string) {
  const parts = partsOf(text, tool_calls)
  return { 'gen_ai.output.messages': toJsonList([{ role: 'assistant', parts, finish_reason }], hide) }
}

const isSystem = ({ role }: Message) => role === 'system'
const textPart = (content: string) => ({ type: 'text', content: clip(content) })

function messageOf({ role, content, tool_calls = [], tool_call_id }: Message) {
  if (role === 'tool')
    return { role, parts: [{ type: 'tool_call_response', id: tool_call_id, response: clip(content) }] }
  return { role, parts: partsOf(content, tool_calls) }
}

function partsOf(text: string, calls: readonly { id: string; name: string; arguments: unknown }[]) {
  const called = calls.map(({ id, name, arguments: args }) => ({ type: 'tool_call', id, name, arguments: args }))
  return [...(text ? [textPart(text)] : []), ...called]
}

/** Returns a list as valid JSON, without its oldest items if it is too long. */
function toJsonList(list: readonly unknown[], hide: (json: string) => string): string {
  for (let from = 0; ; from++) {
    const json = hide(JSON.stringify(list.slice(from)))
    if (json.length <= 4 * LONGEST || from >= list.length - 1) return json
  }
}

function clip(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text
}
