import { HostToken, operation, type PluginHandle, z } from '#kernel'
import { Plugin } from './contract.ts'

export function pluginsList(svc: PluginHandle) {
  return operation({
    name: 'plugins.list',
    summary: 'List the plugins, what each registered, and why those that failed did',
    input: z.object({}),
    output: z.array(Plugin),
    http: { method: 'GET', path: '/plugins' },
    cli: { usage: 'plugins' },
    mcp: true,
    run: () => svc.use(HostToken).list(),
    render: renderPlugins,
  })
}

/** A table, with the errors below it: they are what one came for, so they are never cut. */
function renderPlugins(plugins: readonly Plugin[]): string {
  const rows = plugins.map(({ name, state, version, origin, registered }) => {
    return [name, state, version || '-', String(registered.length), origin]
  })
  const table = [['NAME', 'STATE', 'VERSION', 'REGISTERED', 'ORIGIN'], ...rows]
  const widths = [0, 1, 2, 3].map(column => Math.max(...table.map(row => row[column]!.length)))
  const lines = table.map(row => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
  const errors = plugins.flatMap(({ error }) => (error ? ['', error] : []))
  return [...lines, ...errors].join('\n')
}
