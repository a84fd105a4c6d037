import { resolve } from 'node:path'
import { Mcp, type McpStdio } from '#interfaces/mcp/contract'
import type { Kernel } from '#kernel'
import type { Context, HandWritten } from '../../context.ts'
import { NoProjectError } from '../../contract.ts'
import { isMcpChild, mcpPipes, runMcpChild } from '../../process/mcp-child.ts'
import { serveUntilSignal } from '../../process/service.ts'
import { findProject } from '../../project/project.ts'
import { initOperation, processOperations } from './mcp-operations.ts'

/**
 * Serves MCP on standard input and output until the client closes standard input. Without a project, it only offers to
 * create one; all other tools follow from then on.
 */
const mcp: HandWritten = async (_input, context) => {
  if (!isMcpChild(context)) return runMcpChild(context)
  const { speak } = await context.program.mcpStdio()
  const pipes = mcpPipes()
  const found = await findProject(context.ports, context.named).catch(error => {
    if (error instanceof NoProjectError) return undefined
    throw error
  })
  const root = found ?? resolve(context.named ?? context.ports.env.SVC_ROOT ?? process.cwd())
  const [made, project] = [oneTimeSignal(), oneTimeSignal()]
  const { ports, tree } = context
  const onBegin = () => {
    made.fire()
    return project.fired
  }
  const operations = [initOperation(root, context, found ? undefined : onBegin)]
  const connect = () => speak(pipes, { operations, ports, version: tree.version })
  if (found) return serve(root, context, connect, pipes.stopped)
  const peer = await connect()
  const gone = Promise.race([peer.ended, pipes.stopped]).then(() => true)
  if (await Promise.race([gone, made.fired])) return 0
  return serve(
    root,
    context,
    async () => peer,
    pipes.stopped,
    () => {
      peer.notifyChanged(['tools', 'resources', 'prompts'])
      project.fire()
    },
  )
}
export default mcp

async function serve(
  root: string,
  context: Context,
  connect: () => Promise<McpStdio>,
  stopped: Promise<string>,
  onBegin = () => {},
): Promise<number> {
  const gone = oneTimeSignal()
  const begin = async (kernel: Kernel) => {
    const peer = await connect()
    kernel.use(Mcp).serve(peer, processOperations(root, context, kernel))
    peer.ended.then(gone.fire)
    onBegin()
    return undefined
  }
  const ended = Promise.race([gone.fired.then(() => 'the client is gone'), stopped])
  return serveUntilSignal(root, ['mcp'], context, { begin }, ended)
}

/** Creates a promise and the function that resolves it. */
function oneTimeSignal(): { fired: Promise<void>; fire: () => void } {
  let fire = () => {}
  const fired = new Promise<void>(resolve => {
    fire = resolve
  })
  return { fired, fire }
}
