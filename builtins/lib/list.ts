import { type Operation, type OperationCall, type PluginHandle, parse, z } from '#kernel'
import { pluralize } from '#lib/pluralize'

/** Page parameters of a list, as specified. */
export const Page = z.object({
  limit: z.int().min(1).max(1000).optional().describe('Maximum number of results (1 to 1000); default: all'),
  offset: z.int().min(0).default(0).describe('Number of results to skip'),
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

/** The request that a notice is about. */
export interface NoticeRequest<I extends z.ZodObject = z.ZodObject> {
  input: z.output<I>
  tenant: string
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
    notice?(services: Services, request: NoticeRequest<I>): string | undefined | Promise<string | undefined>
  }
}

/** Returns the number of rows that a list leaves out for this input. */
export async function hiddenCount({ input, hidden }: Operation, raw: unknown, services: Services): Promise<number> {
  return hidden ? hidden.count(parse(input, raw, 'The request'), services) : 0
}

/** Returns the notice of an operation for this input. */
export async function noticeOf(
  { input, notice }: Operation,
  raw: unknown,
  tenant: string,
  services: Services,
): Promise<string | undefined> {
  return notice?.(services, { input: parse(input, raw, 'The request'), tenant })
}

/** Returns the notice of a list of the calling user's rows about those of other users; undefined when there are none. */
export function othersNotice(count: number, noun: string): string | undefined {
  if (count === 0) return undefined
  return `Not listed: ${pluralize(count, noun)} of other users (X-Svc-User over HTTP).`
}
