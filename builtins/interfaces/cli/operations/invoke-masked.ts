import type { Kernel, OperationCall } from '#kernel'
import type { StreamEvent } from '#lib/stream'

type Mask = <V>(value: V) => V

/**
 * Runs an operation in this process, with the values of secrets masked in what it returns, streams, reports and throws.
 * The daemon's socket masks them too, so that a command shows the same with a daemon and without one.
 */
export async function invokeMasked<T>(
  kernel: Kernel,
  name: string,
  input: unknown,
  { progress, ...call }: Partial<Pick<OperationCall, 'signal' | 'progress'>> = {},
): Promise<T> {
  const [{ isStream }, { secretMasker }] = await Promise.all([import('#lib/stream'), import('#lib/secrets')])
  const hide = secretMasker(kernel)
  const mask: Mask = value => (value === undefined ? value : JSON.parse(hide(JSON.stringify(value))))
  const reported = progress ? { progress: (message: string) => progress(mask(message)) } : {}
  try {
    const output = await kernel.invoke(name, input, { ...call, ...reported, via: 'cli' })
    return (isStream(output) ? maskedEvents(output, mask) : mask(output)) as T
  } catch (error) {
    throw maskedError(error, mask)
  }
}

async function* maskedEvents(events: AsyncIterable<StreamEvent>, mask: Mask): AsyncGenerator<StreamEvent> {
  try {
    for await (const event of events) yield mask(event)
  } catch (error) {
    throw maskedError(error, mask)
  }
}

/** Masks an error in place, so that its class and code stay. */
function maskedError(error: unknown, mask: Mask): unknown {
  if (!(error instanceof Error)) return mask(error)
  error.message = mask(error.message)
  if ('errors' in error) Object.assign(error, { errors: mask(error.errors) })
  return error
}
