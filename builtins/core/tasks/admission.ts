import { createHash } from 'node:crypto'
import type { ImageInputs } from '#core/images/contract'
import type { ModelParameters } from '#core/models/contract'
import { canonicalJson } from '#core/runtime/contract'
import type { PluginHandle, SvcError } from '#kernel'
import { Budget, BudgetExhaustedError } from '#safety/budget/contract'
import { GuardrailBlockedError, Guardrails } from '#safety/guardrails/contract'

export interface TaskInput {
  id: string
  instruction: string
  images?: ImageInputs
  max_steps: number
  session_id?: string | null | undefined
  session_key?: string | null | undefined
  response_schema?: Record<string, unknown> | null | undefined
  max_tokens?: number | null | undefined
  parameters?: ModelParameters | null | undefined
  /** Names of the task's toolkits; by default those of the configuration. */
  toolkits?: string[] | null | undefined
  /** Whether the task's agent may ask questions. */
  may_ask?: boolean
}

/** An instruction that may be stored, with the error for which its task must fail, if any. */
export interface AdmittedInstruction {
  instruction: string
  blocked?: SvcError
}

/** Returns the model parameters of a task; null if it sets none. */
export function parametersGiven({
  max_tokens,
  parameters,
}: Pick<TaskInput, 'max_tokens' | 'parameters'>): ModelParameters | null {
  return max_tokens ? { ...parameters, max_tokens } : (parameters ?? null)
}

/**
 * Returns the instruction after the budget check and redaction by guardrails.
 * @throws BudgetExhaustedError
 */
export async function admit(svc: PluginHandle, agent_id: string, instruction: string): Promise<AdmittedInstruction> {
  if (svc.has(Budget)) await refuseOverBudget(svc.use(Budget))
  const guardrails = svc.has(Guardrails) ? svc.use(Guardrails) : undefined
  if (!guardrails?.enabled) return { instruction }
  const { action, text, findings } = await guardrails.check('input', instruction, { agent_id })
  if (action !== 'block') return { instruction: text }
  const kinds = [...new Set(findings.map(({ kind }) => kind))]
  return { instruction, blocked: new GuardrailBlockedError({ stage: 'instruction', kinds }) }
}

/** Format of amounts: at least cents, and smaller fractions if they are not zero. */
const CENTS = { minimumFractionDigits: 2, maximumFractionDigits: 6 }

/**
 * Refuses a task that would fail at its first model call.
 * @throws BudgetExhaustedError
 */
async function refuseOverBudget(budget: Budget): Promise<void> {
  if (!(await budget.isExceeded())) return
  const { spent, limits, problem } = await budget.status()
  // An unknown state of the budget is reported by the model call.
  if (problem !== null) return
  const describeLimits = ({ usd, tokens }: { usd: number | null; tokens: number | null }) =>
    [
      ...(limits.usd === null ? [] : [`$${(usd ?? 0).toLocaleString('en-US', CENTS)}`]),
      ...(limits.tokens === null ? [] : [`${(tokens ?? 0).toLocaleString('en-US')} tokens`]),
    ].join(' and ')
  throw new BudgetExhaustedError({ spent: describeLimits(spent), limit: describeLimits(limits) })
}

/** Returns a hash that is equal for equal requests. */
export function hashOf({ instruction, max_steps, session_id, session_key, ...more }: TaskInput): string {
  const { images = [], response_schema, toolkits } = more
  const parameters = parametersGiven(more)
  const request = {
    instruction,
    max_steps,
    session_id: session_id ?? null,
    session_key: session_key ?? null,
    ...(response_schema ? { response_schema } : {}),
    ...(parameters ? { parameters } : {}),
    ...(toolkits ? { toolkits } : {}),
    ...(images.length > 0 ? { images } : {}),
  }
  return createHash('sha256').update(canonicalJson(request)).digest('hex')
}
