import { AgentNotFoundError, AgentRef, AmbiguousAgentError } from '#core/agents/contract'
import { ModelNameError } from '#core/models/contract'
import { ProfileNotFoundError } from '#core/profiles/contract'
import { operation, z } from '#kernel'
import { Bundles } from './bundles.ts'
import { BadBundleError, Bundle, BundleTooLargeError, ImportedAgent } from './contract.ts'

export const bundlesExport = operation({
  name: 'bundles.export',
  summary: 'Export an agent as a bundle',
  description: 'Its identity, goals, memory, schedules and all else that another agent can be made from.',
  input: z.object({ id: AgentRef }),
  output: Bundle,
  http: { method: 'GET', path: '/agents/{id}/bundle' },
  errors: [AgentNotFoundError, AmbiguousAgentError, BundleTooLargeError],
  run: ({ id }, { svc }) => new Bundles(svc).pack(id),
})

export const bundlesImport = operation({
  name: 'bundles.import',
  summary: 'Import an agent from a bundle',
  description: 'Each import makes another agent.',
  input: z.strictObject({
    bundle: z.looseObject({}).describe('As it was exported'),
    preset: z.string().min(1).max(64).optional().describe('A profile that it is to live by instead of its own'),
    model: z.string().min(1).max(200).optional().describe('provider:model instead of its own'),
  }),
  output: ImportedAgent,
  http: {
    method: 'POST',
    path: '/bundles',
    status: 201,
    idempotent: true,
    location: ({ agent_id }: ImportedAgent) => `/agents/${agent_id}`,
  },
  errors: [BadBundleError, ProfileNotFoundError, ModelNameError],
  run: ({ bundle, ...options }, { svc, effects }) => new Bundles(svc).unpack(bundle, options, effects),
})

/** These operations have commands of their own, because the command line reads and writes files. */
export const bundleOperations = [bundlesExport, bundlesImport]
