import type { PluginDefinition } from '#kernel'
import a2a from './a2a/index.ts'
import a2aProtocol from './a2a-protocol/index.ts'
import agents from './agents/index.ts'
import approvals from './approvals/index.ts'
import authoring from './authoring/index.ts'
import benchmark from './benchmark/index.ts'
import budget from './budget/index.ts'
import checkpoints from './checkpoints/index.ts'
import cli from './cli/index.ts'
import cluster from './cluster/index.ts'
import daemon from './daemon/index.ts'
import dashboard from './dashboard/index.ts'
import delegation from './delegation/index.ts'
import demos from './demos/index.ts'
import docs from './docs/index.ts'
import doctor from './doctor/index.ts'
import economy from './economy/index.ts'
import events from './events/index.ts'
import exporting from './export/index.ts'
import goals from './goals/index.ts'
import guardrails from './guardrails/index.ts'
import identity from './identity/index.ts'
import images from './images/index.ts'
import mcp from './mcp/index.ts'
import mcpClient from './mcp-client/index.ts'
import memory from './memory/index.ts'
import metrics from './metrics/index.ts'
import models from './models/index.ts'
import net from './net/index.ts'
import patterns from './patterns/index.ts'
import pluginsAdmin from './plugins-admin/index.ts'
import profiles from './profiles/index.ts'
import recordings from './recordings/index.ts'
import rest from './rest/index.ts'
import retention from './retention/index.ts'
import runs from './runs/index.ts'
import runtime from './runtime/index.ts'
import sandbox from './sandbox/index.ts'
import schedules from './schedules/index.ts'
import sessions from './sessions/index.ts'
import settings from './settings/index.ts'
import simulation from './simulation/index.ts'
import store from './store/index.ts'
import subAgents from './sub-agents/index.ts'
import suffering from './suffering/index.ts'
import swarm from './swarm/index.ts'
import tasks from './tasks/index.ts'
import telemetry from './telemetry/index.ts'
import a2aToolkit from './toolkits/a2a/index.ts'
import alarmToolkit from './toolkits/alarm/index.ts'
import clipboardToolkit from './toolkits/clipboard/index.ts'
import commsToolkit from './toolkits/comms/index.ts'
import delegationToolkit from './toolkits/delegation/index.ts'
import fileToolkit from './toolkits/file/index.ts'
import gitToolkit from './toolkits/git/index.ts'
import knowledgeToolkit from './toolkits/knowledge/index.ts'
import linksToolkit from './toolkits/links/index.ts'
import memoryToolkit from './toolkits/memory/index.ts'
import notepadToolkit from './toolkits/notepad/index.ts'
import orchestratorToolkit from './toolkits/orchestrator/index.ts'
import scheduleToolkit from './toolkits/schedule/index.ts'
import shellToolkit from './toolkits/shell/index.ts'
import taskToolkit from './toolkits/task/index.ts'
import webToolkit from './toolkits/web/index.ts'
import worldToolkit from './toolkits/world/index.ts'
import trials from './trials/index.ts'
import waking from './waking/index.ts'
import watchdog from './watchdog/index.ts'

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
  goals,
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
  settings,
  metrics,
  retention,
  trials,
  simulation,
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
