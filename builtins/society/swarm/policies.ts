import type { SwarmAction, SwarmPolicy, SwarmSituation } from './contract.ts'

/** Minimum number of goals of a kind for judging an agent's skill. */
const WEAK_GOALS = 2
const STRONG = 0.5

/** Records and shows findings without acting on them. */
const passive: SwarmPolicy = { name: 'passive', act: () => [] }

/**
 * Gives an agent with bad results a hint in its prompt and fewer delegations, routes kinds of work with bad results to
 * agents that do them well, and shares successful goals with agents that have bad results.
 */
const active: SwarmPolicy = {
  name: 'active',
  act: situation =>
    situation.learned.recommendations.flatMap(({ kind, agent_id, task_type, text }) => {
      if (kind === 'routing' && agent_id !== null) return relieveActions(situation, agent_id)
      if (kind === 'specialization' && task_type !== null) return routeActions(situation, task_type, text)
      return kind === 'knowledge' ? teachPeers(situation) : []
    }),
}

function relieveActions({ specializations }: SwarmSituation, agent_id: string): SwarmAction[] {
  const { strengths = [], types = [] } = specializations.find(each => each.agent_id === agent_id) ?? {}
  const weak = types.filter(({ rate }) => rate < STRONG).map(({ task_type }) => task_type)
  const text = [
    'Lately you abandoned more goals than you completed. Choose smaller goals.',
    strengths.length > 0 && `You do well in: ${strengths.join(', ')}.`,
    weak.length > 0 && `Delegate work of the kinds ${weak.join(', ')} to best_peer with delegate_task.`,
  ]
  const topic = 'routing'
  return [
    { kind: 'hint', agent_id, topic, text: text.filter(Boolean).join(' ') },
    { kind: 'rest', agent_id, topic, text: 'Delegations to best_peer skip this agent while its results are poor.' },
  ]
}

function routeActions(situation: SwarmSituation, task_type: string, text: string): SwarmAction[] {
  const best = situation.best(task_type)
  if (!best) return []
  return [{ kind: 'route', agent_id: best.agent_id, topic: task_type, text }, ...lessons(situation, task_type)]
}

/** Shares the best agent's successful goal in each kind of work with agents that have bad results in it. */
function teachPeers(situation: SwarmSituation): SwarmAction[] {
  const types = new Set(situation.specializations.flatMap(each => each.types.map(({ task_type }) => task_type)))
  return [...types].sort().flatMap(task_type => lessons(situation, task_type))
}

function lessons({ best, specializations }: SwarmSituation, task_type: string): SwarmAction[] {
  const source = best(task_type)
  if (!source) return []
  const text = `What worked for ${source.agent_id} in ${task_type}: ${source.objective}\n${source.result}`.trim()
  return specializations
    .filter(({ agent_id, types }) => {
      const own = types.find(type => type.task_type === task_type)
      return agent_id !== source.agent_id && own !== undefined && own.goals >= WEAK_GOALS && own.rate < STRONG
    })
    .map(({ agent_id }) => ({ kind: 'memory', agent_id, topic: `${task_type} ${source.goal_id}`, text }))
}

export const POLICIES: readonly SwarmPolicy[] = [passive, active]
