/** Builds the command line program. Modules that only some commands need are loaded on demand. */
import { fileURLToPath } from 'node:url'
import { projectAt } from '#lib/project'
import type { CliProgram } from './context.ts'
import { main } from './main.ts'

const program: CliProgram = {
  packageRoot: fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? '../../..' : '..', import.meta.url)),
  async open({ root, ...options }) {
    const { Svc } = await import('../../../embed/embed.ts')
    // The command line owns its process, so plugin code is watched even where it is not restarted.
    return (await Svc.open(root, { restart: [], ...options, create: true })).kernel
  },
  async configOf(ports, root) {
    const { Config } = await import('#platform/settings/config')
    const config = new Config(projectAt(root).config, ports)
    await config.open()
    return config
  },
  async findDaemon(ports, svc) {
    const { findDaemon } = await import('#platform/daemon/holder')
    return findDaemon(ports, svc)
  },
  async findDaemons(ports, svc) {
    const { findDaemons } = await import('#platform/daemon/holder')
    return findDaemons(ports, svc)
  },
  async findServers(ports, svc) {
    const { findServers } = await import('#interfaces/rest/listener/servers')
    return findServers(ports, svc)
  },
  mcpStdio: () => import('#interfaces/mcp/transport/stdio'),
  databaseFiles: () => import('#platform/store/sqlite/files'),
  databaseServer: () => import('#platform/cluster/postgres/server'),
  doctor: () => import('#interfaces/doctor/examine'),
  checkout: () => import('#platform/plugin-files/checkout/sources'),
  simulate: () => import('../../../test/support/simulation/command.ts'),
  peek: () => import('#platform/store/sqlite/peek'),
}

/**
 * Runs the command line.
 * @param words the words after the program's name
 * @returns the exit code of the process
 */
export function run(words: readonly string[]): Promise<number> {
  return main(words, program)
}
