import { operation, z } from '#kernel'
import { Sandbox, SandboxStatus, sandboxSentence } from './contract.ts'

/** Operation that shows how agents' programs are confined. */
export const sandboxStatus = operation({
  name: 'sandbox.status',
  summary: "Show how agents' programs are sandboxed",
  description: 'Returns whether bubblewrap works here, and whether programs may use the network.',
  input: z.object({}),
  output: SandboxStatus,
  http: { method: 'GET', path: '/sandbox' },
  cli: { usage: 'sandbox' },
  mcp: true,
  run: (_, { svc }) => svc.use(Sandbox).status(),
  render: sandboxSentence,
})
