import type { PluginDefinition } from '#kernel'
import agents from './core/agents/index.ts'
import checkpoints from './core/checkpoints/index.ts'
import environment from './core/environment/index.ts'
import goals from './core/goals/index.ts'
import images from './core/images/index.ts'
import memory from './core/memory/index.ts'
import models from './core/models/index.ts'
import profiles from './core/profiles/index.ts'
import runtime from './core/runtime/index.ts'
import sessions from './core/sessions/index.ts'
import skills from './core/skills/index.ts'
import snapshots from './core/snapshots/index.ts'
import subAgents from './core/sub-agents/index.ts'
import tasks from './core/tasks/index.ts'
import worktrees from './core/worktrees/index.ts'
import a2aProtocol from './interfaces/a2a-protocol/index.ts'
import authoring from './interfaces/authoring/index.ts'
import cli from './interfaces/cli/index.ts'
import dashboard from './interfaces/dashboard/index.ts'
import docs from './interfaces/docs/index.ts'
import doctor from './interfaces/doctor/index.ts'
import mcp from './interfaces/mcp/index.ts'
import pluginsAdmin from './interfaces/plugins-admin/index.ts'
import rest from './interfaces/rest/index.ts'
import benchmark from './lab/benchmark/index.ts'
import demos from './lab/demos/index.ts'
import trials from './lab/trials/index.ts'
import events from './observability/events/index.ts'
import exporting from './observability/export/index.ts'
import metrics from './observability/metrics/index.ts'
import notifications from './observability/notifications/index.ts'
import recordings from './observability/recordings/index.ts'
import runs from './observability/runs/index.ts'
import summary from './observability/summary/index.ts'
import telemetry from './observability/telemetry/index.ts'
import cluster from './platform/cluster/index.ts'
import daemon from './platform/daemon/index.ts'
import retention from './platform/retention/index.ts'
import schedules from './platform/schedules/index.ts'
import settings from './platform/settings/index.ts'
import store from './platform/store/index.ts'
import waking from './platform/waking/index.ts'
import watchdog from './platform/watchdog/index.ts'
import approvals from './safety/approvals/index.ts'
import budget from './safety/budget/index.ts'
import guardrails from './safety/guardrails/index.ts'
import net from './safety/net/index.ts'
import questions from './safety/questions/index.ts'
import sandbox from './safety/sandbox/index.ts'
import a2a from './society/a2a/index.ts'
import delegation from './society/delegation/index.ts'
import economy from './society/economy/index.ts'
import identity from './society/identity/index.ts'
import patterns from './society/patterns/index.ts'
import suffering from './society/suffering/index.ts'
import swarm from './society/swarm/index.ts'
import mcpClient from './tools/mcp-client/index.ts'
import a2aToolkit from './tools/toolkits/a2a/index.ts'
import alarmToolkit from './tools/toolkits/alarm/index.ts'
import clipboardToolkit from './tools/toolkits/clipboard/index.ts'
import commsToolkit from './tools/toolkits/comms/index.ts'
import delegationToolkit from './tools/toolkits/delegation/index.ts'
import fileToolkit from './tools/toolkits/file/index.ts'
import gitToolkit from './tools/toolkits/git/index.ts'
import knowledgeToolkit from './tools/toolkits/knowledge/index.ts'
import linksToolkit from './tools/toolkits/links/index.ts'
import memoryToolkit from './tools/toolkits/memory/index.ts'
import notepadToolkit from './tools/toolkits/notepad/index.ts'
import orchestratorToolkit from './tools/toolkits/orchestrator/index.ts'
import scheduleToolkit from './tools/toolkits/schedule/index.ts'
import shellToolkit from './tools/toolkits/shell/index.ts'
import taskToolkit from './tools/toolkits/task/index.ts'
import webToolkit from './tools/toolkits/web/index.ts'
import worldToolkit from './tools/toolkits/world/index.ts'

/** Reading this list is reading what the service can do; the order is that in which they begin. */
export const BUILTINS: readonly PluginDefinition[] = [
  watchdog,
  cluster,
  store,
  telemetry,
  images,
  models,
  budget,
  guardrails,
  profiles,
  agents,
  runtime,
  memory,
  net,
  sandbox,
  fileToolkit,
  notepadToolkit,
  shellToolkit,
  gitToolkit,
  orchestratorToolkit,
  memoryToolkit,
  knowledgeToolkit,
  linksToolkit,
  webToolkit,
  clipboardToolkit,
  mcpClient,
  approvals,
  questions,
  goals,
  environment,
  worktrees,
  snapshots,
  skills,
  waking,
  schedules,
  scheduleToolkit,
  alarmToolkit,
  taskToolkit,
  subAgents,
  suffering,
  identity,
  a2a,
  commsToolkit,
  a2aToolkit,
  delegation,
  delegationToolkit,
  patterns,
  swarm,
  economy,
  worldToolkit,
  checkpoints,
  sessions,
  tasks,
  runs,
  recordings,
  exporting,
  events,
  summary,
  notifications,
  settings,
  metrics,
  retention,
  trials,
  benchmark,
  demos,
  pluginsAdmin,
  authoring,
  doctor,
  rest,
  mcp,
  a2aProtocol,
  dashboard,
  docs,
  cli,
  daemon,
]
