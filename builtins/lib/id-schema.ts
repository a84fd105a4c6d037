import { z } from '#kernel'

/** Returns the schema of an id that callers pass. */
export function idSchema(description: string, example: string) {
  return z
    .string()
    .min(1)
    .max(128)
    .describe(description)
    .meta({ examples: [example] })
}
