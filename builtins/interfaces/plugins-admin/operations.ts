import { resolve } from 'node:path'
import { defineError, HostToken, operation, type PluginHandle, z } from '#kernel'
import { columns } from '#lib/columns'
import { ApplyResult, Plugin } from './contract.ts'

const PluginNotFoundError = defineError({
  code: 'plugin_not_found',
  status: 404,
  title: 'Plugin not found',
  message: (p: { name: string; known: string[] }) =>
    `There is no plugin file "${p.name}"; there are: ${p.known.join(', ') || 'none'}.`,
})

export const pluginsList = operation({
  name: 'plugins.list',
  summary: 'List plugins, their contributions and failures',
  description: 'Live, failed, suspended and disabled plugins, with the error of those that failed.',
  input: z.object({}),
  output: z.array(Plugin),
  http: { method: 'GET', path: '/plugins' },
  cli: { usage: 'plugins' },
  mcp: true,
  run: (_, { svc }) => svc.use(HostToken).list(),
  render: renderPlugins,
})

/**
 * Applies changes on disk without waiting for the tenth heartbeat. With a name, reloads that plugin even when it is
 * unchanged. The answer also names plugins that failed before, as when the heartbeat applied the edit first.
 */
export const pluginsReload = operation({
  name: 'plugins.reload',
  summary: 'Reload changed plugins now',
  description:
    'Lists the changes applied and every plugin that failed. As a command, it exits with 1 if a plugin failed.',
  input: z.strictObject({
    name: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe('Name or file of a plugin, to reload it even if it is unchanged'),
  }),
  output: z.array(ApplyResult),
  http: { method: 'POST', path: '/plugins/reload' },
  cli: { usage: 'plugins reload [name]' },
  mcp: true,
  errors: [PluginNotFoundError],
  async run({ name }, { svc }) {
    const only = name?.includes('/') ? resolve(svc.project.root, name) : name
    // A plugin that waited for another one is tried twice.
    const applied = [...new Map((await svc.use(HostToken).apply(only)).map(each => [placeOf(each), each])).values()]
    if (name === undefined) return [...applied, ...earlierFailures(svc, applied)]
    if (applied.length > 0) return applied
    const files = svc
      .use(HostToken)
      .list()
      .filter(({ origin }) => origin !== 'builtin' && origin !== 'code')
    throw new PluginNotFoundError({ name, known: files.map(plugin => plugin.name) })
  },
  render: applied =>
    applied
      .map(({ plugin, outcome, error }) => (error ? `${plugin}: ${outcome}\n  ${error}` : `${plugin}: ${outcome}`))
      .join('\n') || 'nothing changed',
  exit: applied => (applied.some(({ error }) => error !== null) ? 1 : 0),
})

/** States chosen by the operator; their `error` is only the reason. */
const INTENDED = ['disabled', 'replaced']

/** Returns what identifies a plugin whose name may not be known yet: its file, or the name of a module. */
function placeOf({ plugin, origin }: Pick<ApplyResult, 'plugin' | 'origin'>): string {
  return origin === 'builtin' ? plugin : origin
}

/** Returns plugins whose newest file could not be loaded, without those that were just applied. */
function earlierFailures(svc: PluginHandle, applied: readonly ApplyResult[]): ApplyResult[] {
  const places = new Set(applied.map(placeOf))
  return svc
    .use(HostToken)
    .list()
    .filter(
      ({ name, origin, state, error }) =>
        error !== null && !INTENDED.includes(state) && !places.has(placeOf({ plugin: name, origin })),
    )
    .map(({ name, origin, error }) => ({ plugin: name, origin, outcome: 'failed', error }))
}

/** Prints a table, with the errors below it in full length, because readers look for them. */
function renderPlugins(plugins: readonly Plugin[]): string {
  const rows = plugins.map(({ name, state, version, origin, registered }) => {
    return [name, state, version || '-', String(registered.length), origin]
  })
  const lines = columns([['NAME', 'STATE', 'VERSION', 'REGISTERED', 'ORIGIN'], ...rows])
  // Plugin files that may not run here share one reason.
  const problems = new Set(plugins.flatMap(plugin => problemOf(plugin) ?? []))
  return [...lines, ...[...problems].flatMap(problem => ['', problem])].join('\n')
}

function problemOf({ name, state, error, last_failure }: Plugin): string | undefined {
  if (state === 'suspended') return `${name} is suspended; it failed at ${last_failure}`
  // The reason of a disabled module does not name it; the error of a failed plugin does.
  if (state === 'disabled' && error) return `${name} ${error}`
  return error ?? (last_failure ? `${name} failed last at ${last_failure}` : undefined)
}
