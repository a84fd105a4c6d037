import { type Operation, parse, z } from '#kernel'

/** A list's window, as the specification has it. */
export const Page = z.object({
  limit: z.number().int().min(1).max(1000).optional().describe('At most this many (1 to 1000); all without it'),
  offset: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER).default(0).describe('Skip this many'),
})

/** Returns the number of rows that a list leaves out for this input. */
export async function hiddenCount({ input, hidden }: Operation, raw: unknown): Promise<number> {
  return hidden ? hidden.count(parse(input, raw, 'The request')) : 0
}
