type Data = Readonly<Record<string, unknown>>

const text = (data: Data, key: string) => String(data[key] ?? '-')
const number = (data: Data, key: string) => Number(data[key] ?? 0)

/** Descriptions of events that the log does not describe. */
const WORDS: Readonly<Record<string, (data: Data) => string>> = {
  model_called(data) {
    const tokens = number(data, 'input_tokens') + number(data, 'output_tokens')
    return data.failed === true
      ? `could not call ${text(data, 'model')}`
      : `called ${text(data, 'model')}: ${tokens} tokens`
  },
  approval_requested: data => `wants to use ${text(data, 'tool_name')}`,
  approval_resolved: data => `${text(data, 'approval_id')}: ${text(data, 'decision')} by ${text(data, 'resolved_by')}`,
  cycle_done: data => `cycle ${text(data, 'cycle_num')}: ${text(data, 'result')}`,
  goal_added: data => `received a goal: ${text(data, 'objective')}`,
  nudge_received: () => 'received a nudge',
  message_sent: data => `${text(data, 'type')} from ${text(data, 'from_agent')} to ${text(data, 'to_agent')}`,
  schedule_fired: () => 'received a goal from its schedule',
  task_started: data => `started ${text(data, 'task_id')}`,
  task_ended: data => `${text(data, 'task_id')}: ${text(data, 'status')}`,
  pattern_started: data => `started the pattern ${text(data, 'name')}`,
  pattern_ended: data => `${text(data, 'name')} ${text(data, 'status')}`,
  checkpoint_saved: data => `checkpoint ${text(data, 'checkpoint_id')} was saved`,
  daemon_paused: () => 'all agents are frozen',
  daemon_resumed: () => 'all agents are resumed',
  agent_changed: data => `changed: ${[data.changes].flat().join(', ')}`,
  swarm_learned: () => 'a swarm report was written',
}

/** Describes an event of any type. */
export function inWords(type: string, data: Data): string {
  return WORDS[type]?.(data) ?? `${type.replaceAll('_', ' ')}${shortOf(data)}`
}

/** Returns the plain values of an event, without ids, which are of little use to people. */
function shortOf(data: Data): string {
  const plain = Object.entries(data).filter(
    ([name, value]) => !name.endsWith('_id') && ['string', 'number', 'boolean'].includes(typeof value),
  )
  return plain.length === 0 ? '' : `: ${plain.map(([name, value]) => `${name} ${value}`).join(', ')}`
}
