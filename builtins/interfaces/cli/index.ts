import { join } from 'node:path'
import { definePlugin, errorMessage, HostToken, Operations, type PluginHandle, ROLES } from '#kernel'
import { replaceFile } from '#lib/yaml'
import type { CommandTree } from './contract.ts'
import { commandsOf } from './parsing/tree.ts'

export default definePlugin({
  name: 'cli',
  description: 'The command line, including commands of plugins.',
  fixed: true,
  setup(svc) {
    // Written one after another, because several plugins may change at once and all writes use one temporary file.
    let written = Promise.resolve()
    const write = () => {
      written = written.then(() => writeCommands(svc))
      return written
    }
    svc.start(write, { in: ROLES })
    svc.on('plugin_reloaded', write)
  },
})

/**
 * Stores the commands of plugins in `.svc/commands.json`, where the command line reads them without loading plugins.
 */
async function writeCommands(svc: PluginHandle): Promise<void> {
  const file = join(svc.project.svc, 'commands.json')
  const { files } = svc.ports
  try {
    // The commands of plugins that may not run here are unknown.
    if ((await svc.use(HostToken).blockedReason()) !== undefined) return
    const commands = commandsOf(pluginOperations(svc))
    const provides = pluginServices(svc)
    const text = `${JSON.stringify({ version: '', commands, modules: [], exits: {}, provides } satisfies CommandTree)}\n`
    const there = await files.readFile(file, 'utf8').catch(() => undefined)
    if (there === undefined && commands.length === 0 && provides.length === 0) return
    if (there !== text) await replaceFile(files, file, text)
  } catch (error) {
    svc.log.warn({}, `${file} was not written: ${errorMessage(error)}`)
  }
}

function livePlugins(svc: PluginHandle) {
  return svc
    .use(HostToken)
    .list()
    .filter(({ origin, state }) => origin !== 'builtin' && state === 'live')
}

function pluginServices(svc: PluginHandle): NonNullable<CommandTree['provides']> {
  return livePlugins(svc).flatMap(({ name: plugin, origin: file, registered }) =>
    registered
      .filter(label => label.startsWith('provides '))
      .map(label => ({ service: label.slice('provides '.length), plugin, file })),
  )
}

function pluginOperations(svc: PluginHandle) {
  const foreign = livePlugins(svc)
  const labels = new Set(foreign.flatMap(({ registered }) => registered))
  return svc.list(Operations).filter(({ name }) => labels.has(`operations: ${name}`))
}
