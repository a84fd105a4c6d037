import { errorMessage, token, z } from '#kernel'
import { ACTIONS, STAGES } from './contract.ts'
import { LinearPattern } from './linear/match.ts'

const CustomRule = z
  .strictObject({
    name: z.string().regex(/^\w{1,64}$/, 'must be 1 to 64 letters, digits or "_"'),
    kind: z
      .string()
      .regex(/^\w{1,64}$/, 'must be 1 to 64 letters, digits or "_"')
      .describe('Kind of data, shown as [REDACTED:<kind>]'),
    pattern: z.string().min(1).max(2000).describe('A regular expression without lookaround and back references'),
    ignore_case: z.boolean().default(false),
    stages: z.array(z.enum(STAGES)).min(1),
    action: z.enum(ACTIONS),
  })
  .superRefine(({ pattern, ignore_case }, context) => {
    try {
      new LinearPattern(pattern, { ignoreCase: ignore_case })
    } catch (error) {
      context.addIssue({ code: 'custom', path: ['pattern'], message: `cannot be used: ${errorMessage(error)}` })
    }
  })

/** Section `guardrails`. A change of any key requires a restart. */
export const GuardrailsConfig = z.object({
  enabled: z.boolean().default(false).meta({ protects: true }).describe('Whether guardrails check texts'),
  pii: z.boolean().default(true).describe('Whether to check outgoing texts for personal data, keys and tokens'),
  prompt_injection: z
    .boolean()
    .default(true)
    .describe('Whether to check incoming texts for injected instructions to the model'),
  pii_action: z.enum(ACTIONS).default('redact').describe('Action for texts with personal data, keys or tokens'),
  injection_action: z
    .enum(ACTIONS)
    .default('block')
    .describe('Action for texts with injected instructions to the model'),
  stages: z
    .array(z.enum(['tool_arguments', 'tool_result', 'memory']))
    .default([])
    .describe('Further stages to check: tool_arguments for personal data, tool_result for injection, memory for both'),
  rules: z.array(CustomRule).max(100).default([]).describe('Custom rules, checked in addition to the built-in ones'),
})
export type GuardrailsConfig = z.infer<typeof GuardrailsConfig>

export const GuardrailSettings = token<GuardrailsConfig>('guardrails/config')
