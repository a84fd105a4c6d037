import { formatCount } from './format-count.ts'
import { pluralize } from './pluralize.ts'
import { formatUsd } from './usd.ts'

/** Maximum length of a call's arguments in its description, in characters. */
const ARGUMENTS_SHOWN = 160

type Data = Readonly<Record<string, unknown>>

const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value ?? null))
const words = (value: unknown) => text(value).replaceAll('_', ' ')
const list = (value: unknown) => [value].flat().map(words).join(', ')
const because = (reason: unknown) => (reason ? `: ${text(reason)}` : '')

/** Returns who decided. The user of requests without one is called `default`: "by default" would read as automatic. */
export const deciderOf = (resolved_by: string) => (resolved_by === 'default' ? 'the operator' : resolved_by)

/** Descriptions by type of event. They follow the name of the agent: `coder-1a2b3c4d completed goal-9c8b7a6d`. */
const TEXTS: Readonly<Record<string, (data: Data) => string>> = {
  agent_budget_exhausted: ({ key }) => `has used up its limit (${text(key)})`,
  agent_changed: ({ changes }) => `was changed: ${list(changes)}`,
  agent_deleted: () => 'was deleted',
  agent_died: () => 'died',
  agent_imported: ({ was }) => `was imported from ${text(was)}`,
  agent_spawned: ({ preset }) => `spawned from ${text(preset)}`,
  alarm_changed: ({ alarm_id, change }) => `${text(alarm_id)} was ${text(change)}`,
  alarm_fired: ({ description }) => `has an alarm: ${text(description)}`,
  approval_requested: ({ tool_name }) => `waits for a decision on ${text(tool_name)}`,
  approval_resolved: ({ approval_id, decision, resolved_by }) =>
    `${text(approval_id)}: ${decision === 'approve' ? 'approved' : 'denied'} by ${deciderOf(text(resolved_by))}`,
  budget_exceeded: ({ spent_usd, spent_tokens }) =>
    `the budget is used up: ${formatUsd(Number(spent_usd))} and ${formatCount(Number(spent_tokens))} tokens spent`,
  budget_reset: () => 'the budget counters were reset',
  budget_tight: ({ needed_usd, needed_tokens }) =>
    `the budget is too tight for a call that may cost ${formatUsd(Number(needed_usd))} and ${formatCount(Number(needed_tokens))} tokens`,
  changes_kept: ({ branch, repository }) =>
    `its changes were kept as the branch ${text(branch)} of ${text(repository)}`,
  changes_recorded: ({ files, folder }) =>
    `changed ${files === null ? 'files' : pluralize(Number(files), 'file')} in ${text(folder)}`,
  changes_undone: ({ files, folder, redone }) =>
    `${redone === true ? 'changes restored' : 'changes undone'} in ${pluralize([files].flat().length, 'file')} of ${text(folder)}`,
  checkpoint_saved: ({ checkpoint_id }) => `was saved as ${text(checkpoint_id)}`,
  checkpoint_restored: ({ checkpoint_id }) => `was restored from ${text(checkpoint_id)}`,
  context_compacted: ({ how, window }) =>
    `shortened its conversation (${text(how)}) for a window of ${formatCount(Number(window))} tokens`,
  context_refused: ({ model, tokens }) =>
    `sent ${text(model)} a request that is too large: ${formatCount(Number(tokens))} tokens`,
  cycle_done: ({ cycle_num, result, error }) => `cycle ${text(cycle_num)}: ${error ? text(error) : words(result)}`,
  daemon_paused: () => 'all agents are frozen',
  daemon_resumed: () => 'the freeze has ended',
  delegation_ended: ({ delegation_id, to_agent, status }) =>
    `${text(delegation_id)} to ${text(to_agent)}: ${text(status)}`,
  goal_abandoned: ({ goal_id }) => `abandoned ${text(goal_id)}`,
  goal_added: ({ objective, origin }) => `received a goal (${words(origin)}): ${text(objective)}`,
  goal_changed: ({ goal_id, changes }) => `${text(goal_id)} was changed: ${list(changes)}`,
  goal_completed: ({ goal_id }) => `completed ${text(goal_id)}`,
  goal_declined: ({ goal_id, reason }) => `declined ${text(goal_id)}${because(reason)}`,
  goal_generated: ({ objective }) => `new goal: ${text(objective)}`,
  goal_max_steps: ({ goal_id, steps_done }) =>
    `continues ${text(goal_id)} in its next cycle, after ${pluralize(Number(steps_done), 'step')}`,
  goal_not_accepted: ({ goal_id, problem }) => `has not met a criterion of ${text(goal_id)}${because(problem)}`,
  goal_refused: ({ objective, reason }) => `chose a goal that was refused: ${text(objective)} (${text(reason)})`,
  guardrail_hit: ({ kinds, stage, action }) =>
    `a guardrail found ${list(kinds)} in its ${words(stage)} (${text(action)})`,
  life_event: ({ summary }) => text(summary),
  mcp_tool_changed: ({ server, tool, change, held }) =>
    `${text(tool)} of the MCP server ${text(server)} ${change === 'added' ? 'is new' : 'has changed'}${held ? ', and is held back' : ''}`,
  message_sent: ({ type, from_agent, to_agent }) =>
    `${text(from_agent)} sent ${text(to_agent)} a message (${text(type)})`,
  model_called: ({ model, failed, input_tokens, output_tokens, cost_usd }) => {
    if (failed === true) return `could not call ${text(model)}`
    const cost = Number(cost_usd) > 0 ? `, ${formatUsd(Number(cost_usd))}` : ''
    return `called ${text(model)}: ${formatCount(Number(input_tokens) + Number(output_tokens))} tokens${cost}`
  },
  model_failover: ({ from, to, reason }) => `called ${text(to)} instead of ${text(from)}${because(reason)}`,
  nudge_received: () => 'received a nudge',
  pattern_ended: ({ name, status }) => `pattern ${text(name)}: ${words(status)}`,
  pattern_started: ({ name }) => `started the pattern ${text(name)}`,
  plan_updated: ({ steps, done, current }) =>
    `plan: ${text(done)} of ${pluralize(Number(steps), 'step')} done${current ? `, now: ${text(current)}` : ''}`,
  question_answered: ({ question_id }) => `${text(question_id)} was answered`,
  question_asked: ({ question }) => `asks: ${text(question)}`,
  retention_done: ({ total }) => `retention removed ${pluralize(Number(total), 'old record')}`,
  schedule_changed: ({ schedule_id, change }) => `${text(schedule_id)} was ${text(change)}`,
  schedule_fired: () => 'received a goal from its schedule',
  schedule_skipped: ({ slots, reason }) =>
    `skipped ${pluralize(Number(slots), 'run')} of its schedule${because(reason)}`,
  stressor_added: ({ stressor, note }) => `is burdened by ${words(stressor)}${because(note)}`,
  stressor_eased: ({ stressor, note }) => `is relieved of ${words(stressor)}${because(note)}`,
  sub_agent_ended: ({ sub_agent_id, status }) => `its sub-agent ${text(sub_agent_id)} has ended: ${words(status)}`,
  sub_agent_spawned: ({ sub_agent_id }) => `created the sub-agent ${text(sub_agent_id)}`,
  suffering_changed: ({ suffering_state }) => suffering(suffering_state as Data),
  swarm_learned: () => 'a swarm report was written',
  swarm_reverted: ({ report_id }) => `the actions of ${text(report_id)} were undone`,
  task_ended: ({ task_id, status, cancelled }) =>
    `${text(task_id)}: ${cancelled === true ? 'cancelled' : words(status)}`,
  task_started: ({ task_id }) => `started ${text(task_id)}`,
  tool_result: ({ tool, ok, ran, arguments: args, output }) => {
    const outcome = ok === true ? '' : ran === false ? ', which did not run' : ', which failed'
    const shown = args && args !== '{}' ? `: ${text(args).slice(0, ARGUMENTS_SHOWN)}` : ''
    // The output of a call that did not run is a message of the service, such as why it is invalid.
    const why = ran === false && output ? ` → ${text(output).slice(0, ARGUMENTS_SHOWN)}` : ''
    return `${ran === false ? 'called' : 'used'} ${text(tool)}${outcome}${shown}${why}`
  },
  world_changed: ({ summary }) => text(summary),
}

/** Describes an event on one line: builtins' events in a sentence, others by their name and their plain values. */
export function describeEvent(type: string, data: Data): string {
  return (TEXTS[type]?.(data) ?? `${words(type)}${plainValues(data)}`).replace(/\s+/g, ' ').trim()
}

/** Whether an event reports a failure, which lists show in red. */
export function isFailure(type: string, data: Data): boolean {
  return /fail|error|exceed|abandon|died|denied/.test(type) || data.ok === false || data.failed === true || !!data.error
}

function suffering({ level, mood, stressors }: Data): string {
  const names = [stressors].flat().map(stressor => words((stressor as Data | undefined)?.stressor))
  return `feels ${words(mood)}, ${words(level)}${names.length > 0 ? `: ${names.join(', ')}` : ''}`
}

/** Returns the plain values of an event, without ids, which are of little use to people. */
function plainValues(data: Data): string {
  const plain = Object.entries(data).filter(
    ([name, value]) => !name.endsWith('_id') && ['string', 'number', 'boolean'].includes(typeof value),
  )
  return plain.length === 0 ? '' : `: ${plain.map(([name, value]) => `${words(name)} ${value}`).join(', ')}`
}
