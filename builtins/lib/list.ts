import { type Operation, type OperationCall, type PluginHandle, parse, z } from '#kernel'

/** Page parameters of a list, as specified. */
export const Page = z.object({
  limit: z.number().int().min(1).max(1000).optional().describe('Maximum number of results (1 to 1000); default: all'),
  offset: z.number().int().min(0).default(0).describe('Number of results to skip'),
})

/** Returns a page of a list that is read as a whole. */
export function pageOf<T>(all: readonly T[], { limit, offset }: z.output<typeof Page>): T[] {
  return all.slice(offset, limit === undefined ? undefined : offset + limit)
}

/** Access to services: a plugin's handle, or the kernel. */
type Services = Pick<PluginHandle, 'use'>

/** Rows that a list leaves out unless its input `all` is set. */
export interface HiddenRows<I extends z.ZodObject = z.ZodObject> {
  /** Singular of the rows, such as `ended sub-agent`. */
  name: string
  count(input: z.output<I>, services: Services): number | Promise<number>
}

declare module '#kernel' {
  interface Operation<I extends z.ZodObject = z.ZodObject, O extends z.ZodType = z.ZodType, C = OperationCall> {
    /**
     * Rows that are hidden by default. Their number is sent as the header `X-Hidden-Count`, and printed on a terminal.
     */
    hidden?: HiddenRows<I>
    /**
     * Returns a line for people about the whole answer, in printable ASCII. Sent over HTTP as the header `X-Notice`.
     */
    notice?(services: Services): string | undefined | Promise<string | undefined>
  }
}

/** Returns the number of rows that a list leaves out for this input. */
export async function hiddenCount({ input, hidden }: Operation, raw: unknown, services: Services): Promise<number> {
  return hidden ? hidden.count(parse(input, raw, 'The request'), services) : 0
}
