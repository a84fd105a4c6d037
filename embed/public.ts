/**
 * Exports for `import … from 'svc'`: the basics for plugin authors, embedders and clients, the services of modules, and
 * the errors that callers catch by class. Identify other errors by their `code`; import other names from
 * `svc/<module>`.
 */

export {
  AgentDeadError,
  type AgentDetail,
  AgentNotFoundError,
  type AgentSummary,
  Agents,
  AmbiguousAgentError,
} from '#core/agents/contract'
export { Checkpoints } from '#core/checkpoints/contract'
export { type GoalContext, GoalNotFoundError, GoalStrategies, Goals } from '#core/goals/contract'
export { Memory } from '#core/memory/contract'
export { ModelError, type ModelEvent, ModelProviders, type ModelRequest, Models } from '#core/models/contract'
export { ProfileNotFoundError, Profiles } from '#core/profiles/contract'
export { SessionNotFoundError, Sessions } from '#core/sessions/contract'
export { StructuredParseError, TaskGoesOnError, TaskNotFoundError, Tasks } from '#core/tasks/contract'
export { NoProjectError } from '#interfaces/cli/contract'
export type { CallOptions, EventOf } from '#interfaces/rest/client'
export {
  type Client,
  type ClientOptions,
  ConnectionCutError,
  createClient,
  UnreachableError,
} from '#interfaces/rest/client'
export { DaemonNotRunningError, Rest } from '#interfaces/rest/contract'
// Plugins extend the kernel's types, such as `Events`; only an export with `*` allows that.
export type * from '#kernel'
export {
  ConflictError,
  defineError,
  definePlugin,
  InvalidConfigError,
  InvalidInputError,
  operation,
  parse,
  point,
  ServiceMissingError,
  SvcError,
  token,
  z,
} from '#kernel'
export { MissingDependencyError } from '#lib/errors'
export { stream } from '#lib/stream'
export { Metrics } from '#observability/metrics/contract'
export { RunNotFoundError, Runs } from '#observability/runs/contract'
export { Daemon, DaemonRunningError } from '#platform/daemon/contract'
export { type Guard, Guards, type WakeSource, WakeSources } from '#platform/heartbeat/contract'
export { Schedules } from '#platform/schedules/contract'
export { Store } from '#platform/store/contract'
export { ApprovalNotFoundError, ApprovalResolvedError, Approvals } from '#safety/approvals/contract'
export { AgentBudgetExhaustedError, Budget, BudgetExhaustedError } from '#safety/budget/contract'
export { GuardrailBlockedError } from '#safety/guardrails/contract'
export { Questions } from '#safety/questions/contract'
export { Mail } from '#society/a2a/contract'
export { type Tool, type ToolCall, ToolError, Toolkits, tool } from '#tools/toolkits/contract'
export type { ApprovalRequest, RunOptions } from './agent.ts'
export { Agent, type AgentEvent, type AgentOptions, type AgentResult } from './agent.ts'
export { Svc, SvcHooks, type SvcOptions, type TaskOptions, type TaskResult } from './embed.ts'
export { type StartOptions, SvcDaemon } from './svc-daemon.ts'
