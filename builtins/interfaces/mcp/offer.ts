import { DaemonNotRunningError } from '#interfaces/rest/contract'
import {
  errorMessage,
  invoke,
  type Operation,
  Operations,
  type PluginHandle,
  SvcError,
  UnknownOperationError,
} from '#kernel'
import { isAmong } from '#lib/name-patterns'
import { secretMasker } from '#lib/secrets'
import { aliases } from './aliases.ts'
import { type McpConfig, type McpOffer, McpPrompts, McpResources } from './contract.ts'
import { toolName } from './tools.ts'
import { callInDaemon } from './transport/daemon.ts'

/** Returns the offer of a project: its operations marked for MCP, and those that only this process has. */
export function offerOf(
  svc: PluginHandle,
  { tools, output_schemas }: Pick<McpConfig, 'tools' | 'output_schemas'>,
  more: readonly Operation[] = [],
): McpOffer {
  const all = () => [
    ...more,
    ...aliases(name => svc.find(Operations, name)),
    ...svc.list(Operations).filter(({ mcp }) => mcp === true),
  ]
  return {
    output_schemas,
    operations: () => all().filter(operation => isAmong(tools, toolName(operation))),
    // Resources of disabled modules are left out.
    resources: () => svc.list(McpResources).filter(({ operation }) => svc.find(Operations, operation) !== undefined),
    prompts: () => svc.list(McpPrompts),
    async run(operation, input, call) {
      if (operation.reach === 'daemon' && !svc.heartbeat.live) throw new DaemonNotRunningError()
      return invoke(operation, input, call)
    },
    invoke: (name, input, call) => svc.invoke(name, input, call),
    hide: secretMasker(svc),
    reportError(error, what, request_id) {
      if (error instanceof SvcError && error.status < 500) {
        svc.log.debug({ request_id, code: error.code }, `${what}: ${error.message}`)
      } else svc.log.error({ request_id, err: error }, `${what}: ${errorMessage(error)}`)
    },
  }
}

/** Returns the same offer, whose tools run in the project's daemon while one answers, except those of this process. */
export function daemonOfferOf(
  svc: PluginHandle,
  config: Pick<McpConfig, 'tools' | 'output_schemas'>,
  own: readonly Operation[],
): McpOffer {
  const names = new Set(own.map(toolName))
  return {
    ...offerOf(svc, config, own),
    async callElsewhere(tool, args, call) {
      if (names.has(tool)) return undefined
      const answer = await callInDaemon(svc, tool, args, call)
      // The client sees the tools of this process.
      if (answer && tool === 'plugins_reload') await svc.invoke('plugins.reload', args, call).catch(() => {})
      return answer
    },
  }
}

/** Returns the offer for a folder without a project: only these operations. */
export function bareOffer(operations: readonly Operation[], hide: (json: string) => string): McpOffer {
  return {
    output_schemas: true,
    operations: () => operations,
    resources: () => [],
    prompts: () => [],
    run: invoke,
    invoke: async name => {
      throw new UnknownOperationError({ name })
    },
    hide,
    reportError: () => {},
  }
}
