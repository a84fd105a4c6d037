/** Process of a project with an MCP server, to be killed by a test: prints the ids of the processes that it started. */

import models from '#core/models/index'
import runtime from '#core/runtime/index'
import store from '#platform/store/index'
import sandbox from '#safety/sandbox/index'
import mcpClient from '#tools/mcp-client/index'
import { Toolkits } from '#tools/toolkits/contract'
import { openKernel } from '../../embed/compose.ts'
import type { McpServer } from '../../index.ts'

const [root = '.'] = process.argv.slice(2)
const kernel = await openKernel({
  pluginFiles: 'all',
  root,
  roles: ['server'],
  builtins: [store, sandbox, models, runtime, mcpClient],
  log: { level: 'silent' },
})
await kernel.invoke('mcp_servers.restart', { name: 'it' })
const [{ pid }] = (await kernel.invoke('mcp_servers.list')) as [McpServer]
const call = (name: string) => {
  const found = kernel.points.find(Toolkits, 'mcp_it')!.tools.find(tool => tool.name === `it__${name}`)!
  return found.execute({} as never, { workspace: root, signal: new AbortController().signal } as never)
}
const child = /\d+/.exec(String(await call('child')))![0]
await call('stubborn')
process.stdout.write(`${pid} ${child}\n`)
setInterval(() => {}, 1000)
