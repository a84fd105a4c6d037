/** The command line, put together: what a command may need of other rooms is loaded when it does. */
import { fileURLToPath } from 'node:url'
import { projectAt } from '#lib/project'
import type { House } from './builtins/cli/context.ts'
import { main } from './builtins/cli/main.ts'

const house: House = {
  packageRoot: fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? '.' : '..', import.meta.url)),
  async open({ root, ...options }) {
    const { Svc } = await import('./embed.ts')
    // Its own process: plugins' code is watched in it, also where it is not to be started again.
    return (await Svc.open(root, { restart: [], ...options, create: true })).kernel
  },
  async configOf(ports, root) {
    const { Config } = await import('./builtins/settings/config.ts')
    const config = new Config(projectAt(root).config, ports)
    await config.open()
    return config
  },
  async findDaemon(ports, svc) {
    const { findDaemon } = await import('./builtins/daemon/holder.ts')
    return findDaemon(ports, svc)
  },
  async findDaemons(ports, svc) {
    const { findDaemons } = await import('./builtins/daemon/holder.ts')
    return findDaemons(ports, svc)
  },
  async findServers(ports, svc) {
    const { findServers } = await import('./builtins/rest/servers.ts')
    return findServers(ports, svc)
  },
  mcpStdio: () => import('./builtins/mcp/stdio.ts'),
  databaseFiles: () => import('./builtins/store/files.ts'),
  databaseServer: () => import('./builtins/cluster/server.ts'),
  doctor: () => import('./builtins/doctor/examine.ts'),
  peek: () => import('./builtins/store/peek.ts'),
}

/** @param words those behind the program's name @returns what its process is to exit with */
export function run(words: readonly string[]): Promise<number> {
  return main(words, house)
}
