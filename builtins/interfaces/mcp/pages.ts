import { type Operation, type OperationCall, parse } from '#kernel'

/** Number of results of a list whose caller sets no limit. A model reads them all, and a whole list may have thousands. */
export const LISTED = 50

type Input = Readonly<Record<string, unknown>>

/** Returns whether the operation lists everything when its caller sets no `limit`. */
export function listsAll({ count, input }: Operation): boolean {
  const limit = count && input.shape.limit
  return limit !== undefined && limit.safeParse(undefined).data === undefined
}

/** Returns the input with a limit, if it is of a list and has none. */
export function withLimit(operation: Operation, given: Input): Input {
  return listsAll(operation) && given.limit === undefined ? { limit: LISTED, ...given } : given
}

/** Returns what the client's model should know about a page that is not the end of its list. */
export async function noteOf(
  operation: Operation,
  given: Input,
  output: unknown,
  call: OperationCall,
): Promise<string | undefined> {
  if (!operation.count || !Array.isArray(output)) return undefined
  const input = parse(operation.input, given, 'The request')
  const { offset = 0 } = input as { offset?: number }
  const end = offset + output.length
  const total = await operation.count(input as never, call)
  if (output.length === 0 || end >= total) return undefined
  return `These are results ${offset + 1} to ${end} of ${total}; set offset to ${end} for the next ones.`
}
