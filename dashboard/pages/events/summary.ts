import { count, dollars, duration, visible } from '../../ui/text/format.ts'

type Data = Record<string, unknown>

const MOST = 240

/** Summarizes an event in one line; the whole event is shown below it on request. */
export function summaryOf(type: string, data: Data): string {
  const words = SPECIAL[type]?.(data) ?? plainly(data)
  return visible(words.slice(0, MOST))
}

const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
const joinParts = (...parts: unknown[]) => parts.filter(part => part !== '' && part !== undefined).join(' · ')
const took = (ms: unknown) => (typeof ms === 'number' ? duration(ms) : '')

/** Summaries of the most frequent types. */
const SPECIAL: Record<string, (data: Data) => string> = {
  model_called: ({ kind, model, input_tokens, output_tokens, cost_usd, duration_ms, failed }) =>
    joinParts(
      failed === true ? 'failed' : '',
      text(kind).replaceAll('_', ' '),
      model,
      `${count(Number(input_tokens) + Number(output_tokens))} tokens`,
      Number(cost_usd) > 0 ? dollars(Number(cost_usd)) : '',
      took(duration_ms),
    ),
  tool_result: ({ tool, arguments: args, output, duration_ms }) =>
    joinParts(tool, text(args), took(duration_ms), output === undefined ? '' : `→ ${text(output)}`),
  cycle_done: ({ result, duration_ms }) => joinParts(text(result).replaceAll('_', ' '), took(duration_ms)),
}

/** Summarizes any other event by its data, without ids and without false or empty fields. */
function plainly(data: Data): string {
  const fields = Object.entries(data).filter(
    ([key, value]) => !key.endsWith('_id') && key !== 'cycle_num' && value !== null && value !== false && value !== '',
  )
  return fields.map(([key, value]) => `${key.replaceAll('_', ' ')}: ${text(value)}`).join(' · ')
}
