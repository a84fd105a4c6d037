/** The package's front door: what `import … from 'svc'` gives. */

export * from '#kernel'
export {
  Agent,
  type AgentEvent,
  type AgentOptions,
  type AgentResult,
  type ApprovalRequest,
  type RunOptions,
} from './agent.ts'
export * from './builtins/a2a/contract.ts'
export * from './builtins/agents/contract.ts'
export * from './builtins/approvals/contract.ts'
export * from './builtins/authoring/contract.ts'
export * from './builtins/benchmark/contract.ts'
export * from './builtins/budget/contract.ts'
export * from './builtins/checkpoints/contract.ts'
export * from './builtins/cluster/contract.ts'
export * from './builtins/daemon/contract.ts'
export * from './builtins/delegation/contract.ts'
export * from './builtins/demos/contract.ts'
export * from './builtins/doctor/contract.ts'
export * from './builtins/economy/contract.ts'
export * from './builtins/export/contract.ts'
export * from './builtins/goals/contract.ts'
export * from './builtins/guardrails/contract.ts'
export * from './builtins/heartbeat/contract.ts'
export { Heartbeat, type HeartbeatParts } from './builtins/heartbeat/heartbeat.ts'
export { type CycleParts, runPhases } from './builtins/heartbeat/phases.ts'
export * from './builtins/identity/contract.ts'
export * from './builtins/images/contract.ts'
export * from './builtins/lib/columns.ts'
export * from './builtins/lib/counted.ts'
export * from './builtins/lib/crash-point.ts'
export * from './builtins/lib/identity.ts'
export * from './builtins/lib/keyed-mutex.ts'
export * from './builtins/lib/keyed-random.ts'
export { FileLockedError, type LockPorts, lockFile } from './builtins/lib/lock.ts'
export * from './builtins/lib/log.ts'
export * from './builtins/lib/package-version.ts'
export * from './builtins/lib/plugin-file.ts'
export * from './builtins/lib/poller.ts'
export * from './builtins/lib/project.ts'
export * from './builtins/lib/recording-context.ts'
export { readRegular } from './builtins/lib/regular.ts'
export { maskJson, maskText, secretMasker, secretsIn, secretsOf } from './builtins/lib/secrets.ts'
export * from './builtins/lib/system-ports.ts'
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
export * from './builtins/mcp/contract.ts'
export * from './builtins/mcp-client/contract.ts'
export * from './builtins/memory/contract.ts'
export * from './builtins/metrics/contract.ts'
export * from './builtins/models/contract.ts'
export * from './builtins/net/contract.ts'
export * from './builtins/patterns/contract.ts'
export { PluginsConfig } from './builtins/plugin-files/config.ts'
export * from './builtins/plugin-files/contract.ts'
export * from './builtins/plugins-admin/contract.ts'
export * from './builtins/profiles/contract.ts'
export * from './builtins/recordings/contract.ts'
export * from './builtins/rest/contract.ts'
export * from './builtins/retention/contract.ts'
export * from './builtins/runs/contract.ts'
export * from './builtins/runtime/contract.ts'
export * from './builtins/sandbox/contract.ts'
export * from './builtins/schedules/contract.ts'
export * from './builtins/sessions/contract.ts'
export { Config, type ConfigOptions } from './builtins/settings/config.ts'
export * from './builtins/settings/contract.ts'
export * from './builtins/simulation/contract.ts'
export * from './builtins/store/contract.ts'
export * from './builtins/sub-agents/contract.ts'
export * from './builtins/suffering/contract.ts'
export * from './builtins/swarm/contract.ts'
export * from './builtins/tasks/contract.ts'
export * from './builtins/toolkits/clipboard/contract.ts'
export * from './builtins/trials/contract.ts'
export * from './builtins/waking/contract.ts'
export {
  type CallOptions,
  type Client,
  type ClientOptions,
  ConnectionCutError,
  createClient,
  type EventOf,
  UnreachableError,
} from './client.ts'
export { type KernelOptions, openKernel } from './compose.ts'
export * from './deprecated.ts'
export { Svc, SvcHooks, type SvcOptions, type TaskOptions, type TaskResult } from './embed.ts'
export { type StartOptions, SvcDaemon } from './svc-daemon.ts'
