import { token, z } from '#kernel'

export const ApprovalConfig = z.object({
  enabled: z.boolean().default(false).meta({ protects: true }).describe('Whether gated tools wait for the operator'),
  require_for: z.array(z.string()).default([]).describe('Tools that always wait, whatever they say of themselves'),
  auto_approve: z.array(z.string()).default([]).describe('Tools that never wait, whatever they or require_for say'),
  timeout_cycles: z
    .number()
    .int()
    .min(0)
    .default(0)
    .describe('Heartbeats after which a pending approval is denied; 0 never'),
})
export type ApprovalConfig = z.infer<typeof ApprovalConfig>

export const ApprovalSettings = token<ApprovalConfig>('approvals/config')
