import { isTree } from '#lib/tree'

/**
 * Converts an error response to the shape that the `openai` package reads, `{"error": {"message"}}`. For other shapes
 * it reports only "404 status code (no body)". vLLM has the message at the top level, Mistral and FastAPI servers use
 * `detail`, OpenRouter puts the provider's message in `metadata.raw`.
 */
export async function withErrorBody(response: Response): Promise<Response> {
  const { status, statusText, headers } = response
  const text = await response.text().catch(() => '')
  return new Response(readable(text), { status, statusText, headers })
}

function readable(text: string): string {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    return text
  }
  if (!isTree(body)) return text
  const { error } = body
  if (isTree(error)) {
    const raw = isTree(error.metadata) ? error.metadata.raw : undefined
    return typeof raw === 'string' ? JSON.stringify({ error: { ...error, message: `${error.message}: ${raw}` } }) : text
  }
  const message = wordsIn(error) ?? wordsIn(body) ?? text
  return JSON.stringify({ error: { code: body.code, type: body.type, message } })
}

/**
 * Returns the message of an error body: a string, an object with one, or an array of these. A `loc` names the request
 * key in question.
 */
function wordsIn(body: unknown): string | undefined {
  if (typeof body === 'string') return body || undefined
  if (Array.isArray(body)) return body.map(wordsIn).filter(Boolean).join('; ') || undefined
  if (!isTree(body)) return undefined
  const place = Array.isArray(body.loc) && body.loc.length > 1 ? `${body.loc.at(-1)}: ` : ''
  return wordsIn(body.message) ?? (typeof body.msg === 'string' ? place + body.msg : wordsIn(body.detail))
}
