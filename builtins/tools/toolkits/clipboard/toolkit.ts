import { partOf } from '#core/memory/contract'
import { type PluginHandle, z } from '#kernel'
import { pluralize } from '#lib/pluralize'
import { type Tool, type Toolkit, tool } from '#tools/toolkits/contract'
import { Copyables } from './contract.ts'
import type { Clipboard } from './own.ts'

/** Maximum number of characters that are stored, and shown at once. */
const LONGEST = 100_000
const PART = 10_000

/** Tools to copy and paste one text. */
export function clipboardToolkit(svc: PluginHandle, clipboardOf: (agent_id: string) => Clipboard): Toolkit {
  const copy = async (agent_id: string, text: string) => {
    const clipboard = clipboardOf(agent_id)
    await clipboard.write(text)
    return `Copied ${pluralize(text.length, 'character')} to ${clipboard.name}.`
  }
  /** Tool that copies an item of another toolkit by its id. */
  const copying = (what: string, lists: string): Tool =>
    tool({
      name: `copy_${what}`,
      description: `Copy the text of a ${what} to the clipboard, replacing its contents.`,
      parameters: z.object({
        [`${what}_id`]: z.string().trim().min(1).max(200).describe(`Id of the ${what}, as ${lists} shows it`),
      }),
      idempotent: true,
      async execute(args, { agent_id }) {
        const id = args[`${what}_id`] ?? ''
        const source = svc.find(Copyables, what)
        if (!source) return `[No ${what} can be copied: the toolkit that provides it is disabled.]`
        const text = await source.text(agent_id, id)
        return text === undefined
          ? `[You have no ${what} ${JSON.stringify(id)}; ${lists} shows the ids.]`
          : copy(agent_id, text)
      },
    })
  return {
    name: 'clipboard',
    tools: [
      tool({
        name: 'copy_to_clipboard',
        description: 'Put a text on the clipboard, replacing its contents.',
        parameters: z.object({ text: z.string().min(1).max(LONGEST).describe('The text to copy') }),
        idempotent: true,
        execute: ({ text }, { agent_id }) => copy(agent_id, text),
      }),
      tool({
        name: 'read_clipboard',
        description: `Read the contents of the clipboard, ${PART} characters at a time.`,
        parameters: z.object({
          offset: z.coerce
            .number()
            .int()
            .min(0)
            .default(0)
            .describe('Number of characters to skip, to continue a long text'),
        }),
        read_only: true,
        async execute({ offset }, { agent_id }) {
          const text = await clipboardOf(agent_id).read()
          return text === '' ? '[The clipboard is empty.]' : partOf(text, offset, PART)
        },
      }),
      copying('note', 'list_recent_notes'),
      copying('task', 'list_tasks'),
      copying('link', 'list_links'),
    ],
  }
}
