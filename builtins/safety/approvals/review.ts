import { canonicalJson } from '#core/runtime/contract'
import { errorMessage, type PluginHandle, withTimeLimit } from '#kernel'
import { ApprovalReviewers, type GatedCall, type Review } from './contract.ts'

const LIMIT_MS = 10_000

/** Combined result of all reviewers. */
export interface ReviewOutcome {
  /** The arguments to decide on, as canonical JSON, if a reviewer changed them. */
  edited?: string
  decision?: { approve: boolean; reason: string | null; by: string }
}

/** Asks the reviewers in order until one decides; each sees the arguments as edited by the previous ones. */
export async function review(svc: PluginHandle, call: GatedCall): Promise<ReviewOutcome> {
  const reviewers = [...svc.list(ApprovalReviewers)].sort((a, b) => (a.stage ?? 0) - (b.stage ?? 0))
  const reviewed: ReviewOutcome = {}
  const { agent_id, goal_id, task_id, tool } = call
  for (const reviewer of reviewers) {
    const given: unknown = reviewed.edited ? JSON.parse(reviewed.edited) : structuredClone(call.arguments)
    try {
      const args = await tool.parameters.parseAsync(given)
      const question = { agent_id, goal_id, task_id, tool_name: tool.name, arguments: args }
      const work = (async () => reviewer.review(question))()
      const answer: Review | undefined = await withTimeLimit(
        svc.clock,
        LIMIT_MS,
        `The reviewer "${reviewer.name}"`,
        work,
      )
      // Concurrent reviews continue one after another, in the same order as in a replay.
      await svc.clock.yield()
      if (!answer) continue
      if (answer.decision === 'edit') {
        await tool.parameters.parseAsync(answer.arguments)
        reviewed.edited = canonicalJson(answer.arguments)
      } else if (answer.decision !== 'approve' && answer.decision !== 'deny') {
        throw new TypeError('its decision is not approve, deny or edit')
      } else {
        const by = `reviewer:${reviewer.name}`
        reviewed.decision = { approve: answer.decision === 'approve', reason: answer.reason ?? null, by }
        return reviewed
      }
    } catch (error) {
      // The reviewer made no decision: the next reviewers are asked, then the operator.
      svc.log.error({ agent_id }, `the reviewer "${reviewer.name}" failed on ${tool.name}: ${errorMessage(error)}`)
    }
  }
  return reviewed
}
