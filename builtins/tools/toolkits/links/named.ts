import { lineOf, Memory } from '#core/memory/contract'
import { type PluginHandle, z } from '#kernel'
import { type Tool, tool } from '#tools/toolkits/contract'
import { addressOf, nameOf } from './links.ts'

const name = z.string().trim().min(1).max(100).describe('A short name, such as "project-docs"')

/** Tools for addresses under names that the agent chooses. */
export function namedLinkTools(svc: PluginHandle): Tool[] {
  const linksOf = (agent_id: string) => svc.use(Memory).file(agent_id, 'named_links')
  return [
    tool({
      name: 'save_named_link',
      description:
        'Save an address under a name. An address that already has this name is replaced. The page is not fetched.',
      parameters: z.object({ name, url: z.string().trim().min(1).max(2_000).describe('The whole address') }),
      idempotent: true,
      async execute({ name, url }, { agent_id }) {
        const key = nameOf(name)
        const address = addressOf(url)
        await linksOf(agent_id).set(key, address)
        return `${key} is ${address}`
      },
    }),
    tool({
      name: 'get_named_link',
      description: 'Get the address that you saved under a name.',
      parameters: z.object({ name }),
      read_only: true,
      async execute({ name }, { agent_id }) {
        const key = nameOf(name)
        return (await linksOf(agent_id).get(key)) ?? unknown(key)
      },
    }),
    tool({
      name: 'list_named_links',
      description: 'List your named links with their addresses, newest first.',
      parameters: z.object({
        limit: z.coerce.number().int().min(1).max(100).default(50).describe('Number of names to show, at most 100'),
        offset: z.coerce.number().int().min(0).default(0).describe('Number of newest names to skip'),
      }),
      read_only: true,
      async execute({ limit, offset }, { agent_id }) {
        const all = await linksOf(agent_id).entries()
        const shown = all.slice(offset, offset + limit)
        if (shown.length === 0)
          return offset > 0 ? '[There are no more named links.]' : '[You have no named links yet.]'
        const more = offset + limit < all.length ? [`[More with offset=${offset + limit}.]`] : []
        return [...shown.map(([key, url]) => `${key}: ${lineOf(url, 150)}`), ...more].join('\n')
      },
    }),
    tool({
      name: 'remove_named_link',
      description: 'Remove a name and the address that you saved under it.',
      parameters: z.object({ name }),
      idempotent: true,
      danger: 'deletes a saved link',
      async execute({ name }, { agent_id }) {
        const key = nameOf(name)
        return (await linksOf(agent_id).remove(key)) ? `${key} is removed.` : unknown(key)
      },
    }),
  ]
}

function unknown(key: string): string {
  return `[You have no link named ${JSON.stringify(key)}; list_named_links shows the names.]`
}
