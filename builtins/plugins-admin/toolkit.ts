import { HostToken, meant, type PluginHandle, ToolError, type Toolkit, tool, z } from '#kernel'
import type { Applied, Plugin } from './contract.ts'

const name = z.string().trim().min(1).max(200).describe('The name of a plugin, as plugins_list shows it')

/**
 * What agents can do with the plugins of the process: list and read them, and reload one after approval. The name is also that
 * of the group to which the tools of plugin files belong, so a profile that lists `plugins` is given both.
 */
export function pluginsToolkit(svc: PluginHandle): Toolkit {
  const plugins = () => svc.use(HostToken).list()
  const unknown = (wanted: string, known: readonly Plugin[]) => {
    const names = known.map(plugin => plugin.name)
    return new ToolError({ problem: `There is no plugin "${wanted}"; ${meant(wanted, names, 'plugins_list')}.` })
  }
  return {
    name: 'plugins',
    tools: [
      tool({
        name: 'plugins_list',
        description: 'List the plugins that run here.',
        parameters: z.object({}),
        idempotent: true,
        execute: () => plugins().map(lineOf).join('\n'),
      }),
      tool({
        name: 'plugins_read',
        description:
          'Show one plugin: its file, what it adds (tools, routes, commands, events, hooks), and why it failed.',
        parameters: z.object({ name }),
        idempotent: true,
        execute({ name }) {
          const known = plugins()
          const plugin = known.find(each => each.name === name)
          if (!plugin) throw unknown(name, known)
          return described(plugin)
        },
      }),
      tool({
        name: 'plugins_reload',
        description:
          'Load a plugin file again, so that an edit of it is live at once. The operator approves each call.',
        parameters: z.object({ name }),
        requires_approval: true,
        danger: 'runs the code of a plugin file as it is on disk now',
        async execute({ name }) {
          const files = plugins().filter(({ origin }) => origin !== 'builtin' && origin !== 'code')
          if (!files.some(plugin => plugin.name === name)) throw unknown(name, files)
          return (await svc.use(HostToken).apply(name)).map(outcomeOf).join('\n')
        },
      }),
    ],
  }
}

function lineOf({ name, state, error, description }: Plugin): string {
  return `- ${name} (${error === null ? state : `${state}, its newest version failed`}): ${description}`
}

function described({ name, state, origin, version, description, registered, error, last_failure }: Plugin): string {
  return [
    `${name} ${version} (${state}), from ${origin}`,
    description,
    ...(error ? [`Failed: ${error}`] : []),
    ...(last_failure ? [`Last failure: ${last_failure}`] : []),
    registered.length > 0 ? 'It adds:' : 'It adds nothing.',
    ...registered.map(each => `- ${each}`),
  ].join('\n')
}

function outcomeOf({ plugin, outcome, error }: Applied): string {
  return error === null ? `${plugin}: ${outcome}` : `${plugin}: ${outcome}: ${error}`
}
