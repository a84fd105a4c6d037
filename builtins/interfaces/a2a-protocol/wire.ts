import { z } from '#kernel'

/*
 * The JSON-RPC binding of the Agent2Agent protocol, https://a2a-protocol.org/latest/specification/: version 1.0 with methods
 * such as SendMessage, and 0.3 with message/send. What is not read here is ignored, as the protocol asks.
 */

/** A part of a message. In 1.0 the field states its kind, in 0.3 `kind` does. */
const Part = z.union([
  z.object({ text: z.string() }),
  z.object({ data: z.unknown() }).refine(part => part.data !== undefined, 'has no data'),
  z.object({ url: z.string() }),
  z.object({ file: z.object({ uri: z.string() }) }),
])

const name = z.string().min(1).max(200)

const Message = z.object({
  messageId: name,
  contextId: z
    .string()
    .max(200)
    .nullish()
    .transform(value => value || undefined),
  taskId: z
    .string()
    .max(200)
    .nullish()
    .transform(value => value || undefined),
  parts: z.array(z.unknown()).min(1).max(1_000),
})
const tenant = z
  .string()
  .max(128)
  .nullish()
  .transform(value => value || undefined)

export const Send = z.object({
  tenant,
  message: Message,
  configuration: z
    .object({
      historyLength: z.int().min(0).nullish(),
      /** Version 1.0. */
      returnImmediately: z.boolean().nullish(),
      taskPushNotificationConfig: z.unknown().optional(),
      /** Version 0.3. */
      blocking: z.boolean().nullish(),
      pushNotificationConfig: z.unknown().optional(),
    })
    .nullish(),
})
export type Send = z.infer<typeof Send>

export const OneTask = z.object({ tenant, id: name, historyLength: z.int().min(0).nullish() })
export type OneTask = z.infer<typeof OneTask>

export const Request = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.number()]),
  method: z.string().min(1).max(100),
  params: z.unknown().optional(),
})

/** Returns a message's content as an instruction; undefined if some part is not supported. */
export function textOf(parts: readonly unknown[]): string | undefined {
  const texts: string[] = []
  for (const raw of parts) {
    const { data: part } = Part.safeParse(raw)
    if (!part) return undefined
    if ('text' in part) texts.push(part.text)
    else if ('url' in part) texts.push(part.url)
    else if ('file' in part) texts.push(part.file.uri)
    else texts.push(JSON.stringify(part.data, null, 2))
  }
  return texts.join('\n\n').trim()
}
