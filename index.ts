/** The package's front door: what `import … from 'svc'` gives. */

export * from '#core/agents/contract'
export * from '#core/checkpoints/contract'
export * from '#core/goals/contract'
export * from '#core/images/contract'
export * from '#core/memory/contract'
export * from '#core/models/contract'
export * from '#core/profiles/contract'
export * from '#core/runtime/contract'
export * from '#core/sessions/contract'
export * from '#core/sub-agents/contract'
export * from '#core/tasks/contract'
export * from '#interfaces/authoring/contract'
export type { CliFace } from '#interfaces/cli/contract'
export { facesOf, type Place, readUsage } from '#interfaces/cli/parsing/usage'
export * from '#interfaces/doctor/contract'
export * from '#interfaces/mcp/contract'
export * from '#interfaces/plugins-admin/contract'
export {
  type CallOptions,
  type Client,
  type ClientOptions,
  ConnectionCutError,
  createClient,
  type EventOf,
  UnreachableError,
} from '#interfaces/rest/client'
export * from '#interfaces/rest/contract'
export * from '#kernel'
export * from '#lab/benchmark/contract'
export * from '#lab/demos/contract'
export * from '#lab/trials/contract'
export * from '#observability/export/contract'
export * from '#observability/metrics/contract'
export * from '#observability/recordings/contract'
export * from '#observability/runs/contract'
export * from '#platform/cluster/contract'
export * from '#platform/daemon/contract'
export * from '#platform/heartbeat/contract'
export { Heartbeat, type HeartbeatParts } from '#platform/heartbeat/heartbeat'
export { type CycleParts, runPhases } from '#platform/heartbeat/phases'
export { PluginsConfig } from '#platform/plugin-files/config'
export * from '#platform/plugin-files/contract'
export * from '#platform/retention/contract'
export * from '#platform/schedules/contract'
export { Config, type ConfigOptions } from '#platform/settings/config'
export * from '#platform/settings/contract'
export * from '#platform/store/contract'
export * from '#platform/waking/contract'
export * from '#safety/approvals/contract'
export * from '#safety/budget/contract'
export * from '#safety/guardrails/contract'
export * from '#safety/net/contract'
export * from '#safety/questions/contract'
export * from '#safety/sandbox/contract'
export * from '#society/a2a/contract'
export * from '#society/delegation/contract'
export * from '#society/economy/contract'
export * from '#society/identity/contract'
export * from '#society/patterns/contract'
export * from '#society/suffering/contract'
export * from '#society/swarm/contract'
export * from '#tools/mcp-client/contract'
export * from '#tools/toolkits/clipboard/contract'
export * from '#tools/toolkits/contract'
export * from '#tools/toolkits/shell/contract'
export * from './builtins/lib/columns.ts'
export * from './builtins/lib/crash-point.ts'
export * from './builtins/lib/errors.ts'
export * from './builtins/lib/identity.ts'
export * from './builtins/lib/keyed-mutex.ts'
export * from './builtins/lib/keyed-random.ts'
export * from './builtins/lib/list.ts'
export { FileLockedError, type LockPorts, lockFile } from './builtins/lib/lock.ts'
export * from './builtins/lib/log.ts'
export * from './builtins/lib/opener.ts'
export * from './builtins/lib/package-version.ts'
export * from './builtins/lib/plugin-file.ts'
export * from './builtins/lib/pluralize.ts'
export * from './builtins/lib/poller.ts'
export * from './builtins/lib/project.ts'
export * from './builtins/lib/recording-context.ts'
export { readRegular } from './builtins/lib/regular.ts'
export { maskJson, maskText, secretMasker, secretsIn, secretsOf } from './builtins/lib/secrets.ts'
export * from './builtins/lib/sleep.ts'
export * from './builtins/lib/stream.ts'
export * from './builtins/lib/system-ports.ts'
export * from './builtins/lib/traceparent.ts'
export { getIn, isTree, setIn, type Tree } from './builtins/lib/tree.ts'
export * from './builtins/lib/trust.ts'
export {
  BadFileError,
  isForbiddenKey,
  parseYaml,
  readYaml,
  replaceFile,
  type YamlFile,
} from './builtins/lib/yaml.ts'
export {
  Agent,
  type AgentEvent,
  type AgentOptions,
  type AgentResult,
  type ApprovalRequest,
  type RunOptions,
} from './embed/agent.ts'
export { type KernelOptions, openKernel } from './embed/compose.ts'
export * from './embed/deprecated.ts'
export { Svc, SvcHooks, type SvcOptions, type TaskOptions, type TaskResult } from './embed/embed.ts'
export { type StartOptions, SvcDaemon } from './embed/svc-daemon.ts'
