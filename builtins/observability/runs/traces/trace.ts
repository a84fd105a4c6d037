import { isoTime, usdOf } from '#platform/store/contract'
import type { LoggedEvent, RunFacts, Span } from '../contract.ts'
import { ACTION_EVENTS } from '../counts.ts'
import type { RunRow } from '../repository.ts'

/** Builds the tree of spans from a run's events, which come in order, up to a number of spans. */
export class TraceBuilder {
  readonly root: Span
  readonly goals = new Map<string, Span>()
  readonly agents = new Map<string, Span>()
  /** Names of the models that were called. */
  readonly models = new Set<string>()
  /** Number of decisions and tool calls. */
  leaves = 0
  spans = 1
  /** Sequence number of the last included event. */
  last = 0
  readonly #limit: number
  #taken = 0

  constructor(run: RunRow, facts: RunFacts, status: Span['status'], limit: number) {
    this.#limit = limit
    this.root = {
      ...blank(run.run_id, null, 'run', isoTime(run.started_at)),
      name: run.run_id,
      end_time: isoTime(run.ended_at),
      status,
      tokens: run.input_tokens + run.output_tokens,
      cost_usd: usdOf(run.cost_micros),
      attributes: {
        run_kind: run.kind,
        exit: run.exit,
        heartbeat: facts.heartbeat,
        model: facts.default_model,
        profiles: facts.profiles,
        agents_spawned: run.agents,
        cycles: run.cycles,
        model_calls: run.model_calls,
        tool_calls: run.tool_calls,
      },
    }
  }

  /** Adds an event. @returns false if the tree is full and the event was not added */
  take(event: LoggedEvent): boolean {
    if (!ACTION_EVENTS.has(event.type) || event.agent_id === null) return true
    const before = this.spans
    if (this.#taken >= this.#limit) return false
    this.#place(event, this.#agent(event.agent_id, event.at))
    this.last = event.seq
    if (this.spans > before) this.#taken++
    return true
  }

  #place(event: LoggedEvent, agent: Span): void {
    const { type, at, data } = event
    agent.end_time = at
    const goal_id = textOf(data.goal_id)
    const goal = goal_id ? this.#goal(goal_id, agent, at) : undefined
    const parent = goal ?? agent
    if (type === 'model_called') {
      this.models.add(textOf(data.model) ?? '')
      this.#leaf(agent, parent, decision(event, parent))
    } else if (type === 'tool_result') {
      const call = toolCall(event, parent)
      noteCall(parent, call)
      this.#leaf(agent, parent, call)
    } else if (type === 'cycle_done') noteCycle(agent, data)
    else if (goal && type === 'goal_generated') {
      goal.start_time = at
      goal.name = textOf(data.objective) ?? goal.name
      Object.assign(goal.attributes, { objective: textOf(data.objective) ?? null, event: 'generated' })
    } else if (goal && type === 'goal_max_steps') {
      Object.assign(goal.attributes, { event: 'max_steps' })
    } else if (goal) {
      goal.end_time = at
      goal.status = type === 'goal_completed' ? 'completed' : 'abandoned'
      goal.attributes.event = goal.status
    }
  }

  #agent(agent_id: string, at: string): Span {
    let agent = this.agents.get(agent_id)
    if (!agent) {
      agent = { ...blank(`${this.root.span_id}/${agent_id}`, this.root.span_id, 'agent', at), name: agent_id }
      agent.attributes = { agent_id, cycles: {} }
      this.agents.set(agent_id, agent)
      this.#add(this.root, agent)
    }
    return agent
  }

  #goal(goal_id: string, agent: Span, at: string): Span {
    let goal = this.goals.get(goal_id)
    if (!goal) {
      goal = { ...blank(goal_id, agent.span_id, 'goal', at), name: goal_id, status: 'active' }
      goal.attributes = { goal_id, objective: null, event: null, steps_done: 0, steps_failed: 0 }
      this.goals.set(goal_id, goal)
      this.#add(agent, goal)
    }
    return goal
  }

  #leaf(agent: Span, parent: Span, leaf: Span): void {
    this.#add(parent, leaf)
    this.leaves++
    // Outer spans become known only when they end.
    for (const around of [agent, parent]) if (leaf.start_time < around.start_time) around.start_time = leaf.start_time
    if (parent.kind !== 'goal') return
    parent.tokens += leaf.tokens
    parent.cost_usd = Math.round((parent.cost_usd + leaf.cost_usd) * 1e6) / 1e6
    if (leaf.kind !== 'decision' || leaf.attributes.decision_type === 'summary') return
    const counter = leaf.status === 'error' ? 'steps_failed' : 'steps_done'
    parent.attributes[counter] = Number(parent.attributes[counter]) + 1
  }

  #add(parent: Span, child: Span): void {
    parent.children.push(child)
    this.spans++
  }
}

function decision({ seq, at, cycle_num, data }: LoggedEvent, parent: Span): Span {
  const {
    call_id,
    kind,
    model,
    input_tokens,
    output_tokens,
    cost_usd,
    duration_ms,
    step,
    attempts,
    estimated,
    context,
  } = data
  return {
    ...blank(textOf(call_id) ?? `event-${seq}`, parent.span_id, 'decision', startTime(at, duration_ms)),
    name: textOf(model) ?? 'model',
    end_time: at,
    status: data.failed ? 'error' : 'ok',
    tokens: numberOf(input_tokens) + numberOf(output_tokens),
    cost_usd: numberOf(cost_usd),
    attributes: {
      decision_type: kind,
      model,
      input_tokens,
      output_tokens,
      cost_usd,
      duration_ms,
      step_index: step ?? null,
      cycle: cycle_num,
      attempts,
      estimated,
      ...(context ? { context } : {}),
    },
  }
}

function toolCall({ seq, at, cycle_num, data }: LoggedEvent, parent: Span): Span {
  const { call_id, tool, ok, arguments: params, output, duration_ms, step } = data
  const tool_name = textOf(tool) ?? 'tool'
  return {
    ...blank(textOf(call_id) ?? `event-${seq}`, parent.span_id, 'tool', startTime(at, duration_ms)),
    name: tool_name,
    end_time: at,
    status: ok === false ? 'error' : 'ok',
    attributes: {
      tool_name,
      params: params ?? null,
      duration_ms: duration_ms ?? null,
      step_index: step ?? null,
      ...(ok === false ? { output: null, error: output ?? null } : { output: output ?? null, error: null }),
      cycle: cycle_num,
    },
  }
}

/** Adds the tool's name to the answer of the model that called it, if both are in the same part. */
function noteCall(parent: Span, call: Span): void {
  const { step_index, cycle, tool_name } = call.attributes
  const parentDecision = parent.children.findLast(
    ({ kind, attributes }) => kind === 'decision' && attributes.step_index === step_index && attributes.cycle === cycle,
  )
  if (parentDecision)
    parentDecision.attributes.tools = [...((parentDecision.attributes.tools as string[] | undefined) ?? []), tool_name]
}

function noteCycle(agent: Span, { result, error }: Record<string, unknown>): void {
  const cycles = agent.attributes.cycles as Record<string, number>
  const name = textOf(result) ?? 'idle'
  cycles[name] = (cycles[name] ?? 0) + 1
  if (error) agent.attributes.last_error = error
}

function blank(span_id: string, parent_id: string | null, kind: Span['kind'], start_time: string): Span {
  return {
    span_id,
    parent_id,
    name: '',
    kind,
    start_time,
    end_time: null,
    status: 'ok',
    tokens: 0,
    cost_usd: 0,
    attributes: {},
    children: [],
  }
}

/** Returns the start time; events are written at the end of what they describe. */
function startTime(at: string, duration_ms: unknown): string {
  return isoTime(Date.parse(at) - Math.round(numberOf(duration_ms)))
}

function numberOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
