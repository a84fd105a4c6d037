import { hash } from 'node:crypto'
import { canonicalJson, type Verdict } from '#core/runtime/contract'
import { type Effect, errorMessage, type PluginHandle } from '#kernel'
import { appendEvent, Store } from '#platform/store/contract'
import type { Tool } from '#tools/toolkits/contract'
import type { ApprovalConfig } from './config.ts'
import type { GatedCall } from './contract.ts'
import {
  type ApprovalRow,
  attachDecision,
  beginCall,
  callBefore,
  parkCall,
  pendingFor,
  type Request,
  recordApproval,
  requestApproval,
  takeApproval,
} from './repository.ts'
import { review } from './review.ts'
import { rulesFor, useRule } from './rules/repository.ts'
import { isMatch, matchedTool } from './rules/rules.ts'

/** Maximum attempts of a decision. Each failed one means that another call or decision was committed first. */
const TRIES = 20

const HOLD: Verdict = { verdict: 'hold' }

/** Decides whether a call runs, waits or is refused. The decision is written only if the rows that it is based on are unchanged; otherwise it decides again. */
export class Gate {
  readonly #svc: PluginHandle
  readonly #config: ApprovalConfig

  constructor(svc: PluginHandle, config: ApprovalConfig) {
    this.#svc = svc
    this.#config = config
  }

  needsApproval({ name, requires_approval, danger }: Tool): boolean {
    const { enabled, auto_approve, require_for } = this.#config
    if (!enabled || auto_approve.includes(name)) return false
    return require_for.includes(name) || requires_approval === true || danger !== undefined
  }

  async gate(call: GatedCall): Promise<Verdict> {
    for (let tries = 0; tries < TRIES; tries++) {
      const verdict = await this.#decide(call)
      if (verdict) return verdict
    }
    throw new Error(`the approval of ${call.call_id} kept changing while it was being checked`)
  }

  /** Decides once by the current rows; returns undefined when they changed before the decision was written. */
  async #decide(call: GatedCall): Promise<Verdict | undefined> {
    const { call_id, isHeld } = call
    const isNeeded = this.needsApproval(call.tool)
    if (call.isNew && !isNeeded) return isHeld ? HOLD : run(call.arguments)
    const { state, approval } = await callBefore(this.#store, call_id)
    if (isHeld && (approval ? approval.status !== 'pending' : !isNeeded)) return HOLD
    if (approval && approval.used_by !== call_id) return this.#verdictOf(call, approval)
    // Either there is no approval yet, or this call used it up in a process that died, so that its outcome is unknown.
    if (!approval && !isNeeded) {
      const begun = state !== 'planned' || (await this.#store.apply([beginCall({ call_id })]))
      return begun ? run(call.arguments) : undefined
    }
    const problem = await call.check?.().then(() => undefined, errorMessage)
    // The earlier calls may change what the check finds.
    if (problem !== undefined) return isHeld ? HOLD : { verdict: 'refuse', reason: problem }
    const reviewed = await review(this.#svc, call)
    if (isHeld && reviewed.decision) return HOLD
    const given = canonicalJson(call.arguments)
    const wanted = reviewed.edited ?? given
    const request = this.#request(call, given, wanted)
    if (reviewed.decision) {
      const { approve, reason, by } = reviewed.decision
      return approve ? this.#grant(call, request, reason, by, []) : this.#refuse(call, request, reason, by)
    }
    const args: unknown = JSON.parse(wanted)
    for (const rule of await rulesFor(this.#store, this.#svc.clock.ms(), call.agent_id, call.tool.name)) {
      if (!isMatch(rule.arguments === null ? null : JSON.parse(rule.arguments), args, matchedTool(call.tool))) continue
      if (isHeld) return HOLD
      return this.#grant(call, request, rule.reason, `rule:${rule.rule_id}`, [useRule({ rule_id: rule.rule_id })])
    }
    return this.#park(call_id, request)
  }

  /** Returns the verdict by the state of the approval for which the call waits. */
  async #verdictOf({ call_id }: GatedCall, approval: ApprovalRow): Promise<Verdict | undefined> {
    const { approval_id, status, reason } = approval
    if (status === 'pending') return { verdict: 'park', approval_id }
    if (status === 'approved') {
      const taken = await this.#store.apply([takeApproval({ call_id, approval_id })])
      return taken ? run(JSON.parse(approval.arguments), reason, approval.resolved_by) : undefined
    }
    if (status === 'denied') return refusal(reason, approval.resolved_by)
    const shared =
      'not run: another of your calls was identical and used the approval, which was for one call. Call the tool again if it should run twice.'
    return { verdict: 'refuse', reason: shared }
  }

  async #park(call_id: string, request: Request): Promise<Verdict | undefined> {
    const { agent_id, tool_name, task_id } = request
    const pending = await pendingFor(this.#store, request)
    const approval_id = pending?.approval_id ?? request.approval_id
    const requestEffects = [
      requestApproval(request),
      appendEvent({ type: 'approval_requested', agent_id, data: { agent_id, approval_id, tool_name, task_id } }),
    ]
    const parked = await this.#store.apply([...(pending ? [] : requestEffects), parkCall({ call_id, approval_id })])
    return parked ? { verdict: 'park', approval_id } : undefined
  }

  async #grant({ call_id }: GatedCall, request: Request, reason: string | null, by: string, also: Effect[]) {
    const done = await this.#store.apply([
      ...also,
      recordApproval({ ...request, status: 'approved', reason, resolved_by: by }),
      takeApproval({ call_id, approval_id: request.approval_id }),
      resolvedEvent(request, 'approve', by),
    ])
    return done ? run(JSON.parse(request.arguments)) : undefined
  }

  async #refuse({ call_id }: GatedCall, request: Request, reason: string | null, by: string) {
    await this.#store.apply([
      recordApproval({ ...request, status: 'denied', reason, resolved_by: by }),
      attachDecision({ call_id, approval_id: request.approval_id }),
      resolvedEvent(request, 'deny', by),
    ])
    return refusal(reason, by)
  }

  /** Returns an approval's request. Both arguments are canonical JSON: those of the model, and those to decide on. */
  #request({ agent_id, session_id, goal_id, task_id, tool }: GatedCall, given: string, wanted: string): Request {
    return {
      agent_id,
      session_id,
      goal_id,
      task_id,
      approval_id: this.#svc.ports.ids.make('ap', 12),
      tool_name: tool.name,
      danger: tool.danger ?? null,
      arguments: wanted,
      original_arguments: wanted === given ? null : given,
      args_hash: hash('sha256', wanted),
    }
  }

  get #store(): Store {
    return this.#svc.use(Store)
  }
}

/** @param reason why the call was approved; what a person wrote is for the agent, too */
function run(args: unknown, reason: string | null = null, by: string | null = null): Verdict {
  return { verdict: 'run', arguments: args, ...(reason && isPerson(by) ? { remark: reason } : {}) }
}

function isPerson(by: string | null): boolean {
  return by !== null && by !== 'system' && !/^(rule|reviewer):/.test(by)
}

function refusal(reason: string | null, by: string | null): Verdict {
  const byPerson = isPerson(by)
  const denied = byPerson ? 'the operator denied it' : 'it was denied'
  // The service's own reasons are whole clauses, such as `no decision came in time`.
  const why = by === 'system' && reason ? reason : `${denied}${reason ? ` (${reason})` : ''}`
  // The operator's reason may ask for another way.
  const advice =
    byPerson && reason
      ? 'Do what the reason says; if it names no other way, go on without it.'
      : 'Do not try to get the same effect another way; go on without it.'
  return {
    verdict: 'refuse',
    reason: `not run: ${why}. ${advice}`,
    ...(byPerson ? { from_operator: true } : {}),
  }
}

/** Returns the event of a decision, for the same transaction. */
export function resolvedEvent(
  { agent_id, approval_id, task_id }: Pick<Request, 'agent_id' | 'approval_id' | 'task_id'>,
  decision: 'approve' | 'deny',
  resolved_by: string,
): Effect {
  const data = { agent_id, approval_id, decision, resolved_by, task_id }
  return appendEvent({ type: 'approval_resolved', agent_id, data })
}
