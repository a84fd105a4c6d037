import { token, z } from '#kernel'

export const ApprovalConfig = z.object({
  enabled: z
    .boolean()
    .default(false)
    .meta({ protects: true })
    .describe('Whether tools that need approval wait for the operator'),
  require_for: z
    .array(z.string())
    .default([])
    .describe('Tools that always need approval, even if they do not declare it'),
  auto_approve: z
    .array(z.string())
    .default([])
    .describe('Tools that never need approval, even if they declare it or require_for lists them'),
  timeout_cycles: z
    .int()
    .min(0)
    .default(0)
    .describe('Heartbeats after which a pending approval is denied; 0 means never'),
})
export type ApprovalConfig = z.infer<typeof ApprovalConfig>

export const ApprovalSettings = token<ApprovalConfig>('approvals/config')
