import { didYouMean, HostToken, Operations, type PluginHandle, z } from '#kernel'
import { maskText, secretsOf } from '#lib/secrets'
import { ToolError, type Toolkit, Toolkits, tool } from '#tools/toolkits/contract'
import type { ApplyResult, Plugin } from './contract.ts'

const name = z.string().trim().min(1).max(200).describe('The name of a plugin, as plugins_list shows it')

/**
 * Tools for agents to list and read the plugins of the process, and to reload one after approval. Tools of plugin files
 * belong to a group of the same name, so a profile that lists `plugins` gets both.
 */
export function pluginsToolkit(svc: PluginHandle): Toolkit {
  const plugins = () => svc.use(HostToken).list()
  const unknown = (wanted: string, known: readonly Plugin[]) => {
    const names = known.map(plugin => plugin.name)
    return new ToolError({ problem: `There is no plugin "${wanted}"; ${didYouMean(wanted, names, 'plugins_list')}` })
  }
  // Descriptions and errors are written by plugins and may contain a key.
  const maskSecrets = (text: string) => maskText(text, secretsOf(svc)())
  const toolsOf = (plugin: string) => [
    ...svc
      .contributions(Toolkits)
      .filter(({ owner }) => owner === plugin)
      .flatMap(({ value }) => value.tools.map(each => `tool ${each.name}`)),
    ...svc
      .contributions(Operations)
      .filter(({ owner }) => owner === plugin)
      .map(({ value: { name, http } }) => `operation ${name}${http ? ` (${http.method} ${http.path})` : ''}`),
  ]
  return {
    name: 'plugins',
    tools: [
      tool({
        name: 'plugins_list',
        description: 'List the plugins that run here.',
        parameters: z.object({}),
        idempotent: true,
        execute: () => maskSecrets(plugins().map(lineOf).join('\n')),
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
          return maskSecrets(describePlugin(plugin, toolsOf(name)))
        },
      }),
      tool({
        name: 'plugins_reload',
        description:
          'Reload a plugin file, so that an edit of it takes effect at once. The operator approves each call.',
        parameters: z.object({ name }),
        requires_approval: true,
        danger: 'runs the code of a plugin file as it is on disk now',
        async execute({ name }) {
          refuseUnlessGated(svc)
          const applied = await svc.use(HostToken).apply(name)
          if (applied.length > 0) return maskSecrets(applied.map(outcomeOf).join('\n'))
          const files = plugins().filter(({ origin }) => origin !== 'builtin' && origin !== 'code')
          const listed = files.find(plugin => plugin.name === name)
          if (!listed) throw unknown(name, files)
          throw new ToolError({
            problem: maskSecrets(`The plugin "${name}" is ${listed.state} and was not loaded. ${listed.error ?? ''}`),
          })
        },
      }),
    ],
  }
}

/**
 * Throws unless reloads need approval: a plugin runs in the daemon's process, so a person must see each reload first.
 */
function refuseUnlessGated({ config }: PluginHandle): void {
  if (config.get('approval.enabled') === true) return
  throw new ToolError({ problem: 'plugins_reload needs the approval of a person, and approval.enabled is off' })
}

function lineOf({ name, state, error, description }: Plugin): string {
  return `- ${name} (${error === null ? state : `${state}, its newest version failed`}): ${description}`
}

function describePlugin(plugin: Plugin, added: readonly string[]): string {
  const { name, state, origin, version, description, registered, error, last_failure } = plugin
  const all = [...registered, ...added]
  return [
    `${name} ${version} (${state}), from ${origin}`,
    description,
    ...(error ? [`Failed: ${error}`] : []),
    ...(last_failure ? [`Last failure: ${last_failure}`] : []),
    all.length > 0 ? 'It adds:' : 'It adds nothing.',
    ...all.map(each => `- ${each}`),
  ].join('\n')
}

function outcomeOf({ plugin, outcome, error }: ApplyResult): string {
  return error === null ? `${plugin}: ${outcome}` : `${plugin}: ${outcome}: ${error}`
}
