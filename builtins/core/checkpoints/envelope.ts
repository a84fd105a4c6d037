import { createHash } from 'node:crypto'
import { z } from '#kernel'

const Envelope = z.strictObject({
  format: z.string(),
  version: z.number().int(),
  sha256: z.string(),
  content: z.unknown(),
})

/** What is wrong with a text that should hold something sealed; a newer version is no damage. */
export class EnvelopeError extends Error {
  readonly newer: boolean

  constructor(problem: string, newer = false) {
    super(problem)
    this.newer = newer
  }
}

/**
 * Returns a JSON value with its format, its version and the SHA-256 of its content, which shows a torn or edited text.
 */
export function seal<C>(format: string, version: number, content: C): z.infer<typeof Envelope> & { content: C } {
  return { format, version, sha256: digest(content), content }
}

/** @throws EnvelopeError */
export function unseal(format: string, version: number, text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new EnvelopeError('it is no JSON, or only a part of it')
  }
  return openEnvelope(format, version, value)
}

/** The same for what has been parsed. @throws EnvelopeError */
export function openEnvelope(format: string, version: number, value: unknown): unknown {
  const parsed = Envelope.safeParse(value)
  if (!parsed.success || parsed.data.format !== format) throw new EnvelopeError(`it is no ${format} file`)
  const { version: found, sha256, content } = parsed.data
  if (found > version)
    throw new EnvelopeError(`it has version ${found}, and versions up to ${version} are known here; update svc`, true)
  if (found < 1) throw new EnvelopeError(`it has version ${found}, which there never was`)
  if (digest(content) !== sha256) throw new EnvelopeError('its SHA-256 does not fit: it was damaged, or edited')
  return content
}

/** Keys stand in the order in which they were written, so the text of a value that was read is the text that was written. */
function digest(content: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(content) ?? '')
    .digest('hex')
}
