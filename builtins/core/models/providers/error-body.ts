import { isTree } from '#lib/tree'

/**
 * Puts a refusal into the shape that the `openai` package reads, `{"error": {"message"}}`; of another shape it reports only
 * "404 status code (no body)". vLLM has the message at the top, Mistral and FastAPI servers a `detail`, OpenRouter the
 * provider's own words in `metadata.raw`.
 */
export async function withErrorBody(response: Response): Promise<Response> {
  if (response.ok) return response
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

/** The message in what a server says is wrong: a text, an object with one, or a list of such. A `loc` names the key of the request that is meant. */
function wordsIn(said: unknown): string | undefined {
  if (typeof said === 'string') return said || undefined
  if (Array.isArray(said)) return said.map(wordsIn).filter(Boolean).join('; ') || undefined
  if (!isTree(said)) return undefined
  const place = Array.isArray(said.loc) && said.loc.length > 1 ? `${said.loc.at(-1)}: ` : ''
  return wordsIn(said.message) ?? (typeof said.msg === 'string' ? place + said.msg : wordsIn(said.detail))
}
