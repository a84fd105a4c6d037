import { createHash } from 'node:crypto'
import { z } from '#kernel'

const Envelope = z.strictObject({
  format: z.string(),
  version: z.int(),
  sha256: z.string(),
  content: z.unknown(),
})

/** Error for text without a valid envelope. `newer`: its version is not supported yet, so it is not damaged. */
export class EnvelopeError extends Error {
  readonly newer: boolean

  constructor(problem: string, newer = false) {
    super(problem)
    this.newer = newer
  }
}

/** Wraps a JSON value with its format, version and SHA-256, which detects truncated or edited text. */
export function seal<C>(format: string, version: number, content: C): z.infer<typeof Envelope> & { content: C } {
  return { format, version, sha256: digest(content), content }
}

/** Parses text and returns the content of its envelope. @throws EnvelopeError */
export function unseal(format: string, version: number, text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new EnvelopeError('it is not valid JSON, or only a part of it')
  }
  return openEnvelope(format, version, value)
}

/** Returns the content of a parsed envelope. @throws EnvelopeError */
export function openEnvelope(format: string, version: number, value: unknown): unknown {
  const parsed = Envelope.safeParse(value)
  if (!parsed.success || parsed.data.format !== format)
    throw new EnvelopeError(`it is not a file in the format ${format}`)
  const { version: found, sha256, content } = parsed.data
  if (found > version)
    throw new EnvelopeError(
      `it has version ${found}, but this svc supports only versions up to ${version}; update svc`,
      true,
    )
  if (found < 1) throw new EnvelopeError(`it has the invalid version ${found}`)
  if (digest(content) !== sha256) throw new EnvelopeError('its SHA-256 does not match: the file was damaged or edited')
  return content
}

/**
 * Keys keep the order in which they were written, so a value that was read has the same digest as when it was written.
 */
function digest(content: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(content) ?? '')
    .digest('hex')
}
