import { AgentNotFoundError, AgentRef, AmbiguousAgentError } from '#core/agents/contract'
import { ModelNameError } from '#core/models/contract'
import { ProfileNotFoundError } from '#core/profiles/contract'
import { operation, z } from '#kernel'
import { Bundles } from './bundles.ts'
import { BadBundleError, Bundle, BundleTooLargeError, ImportedAgent } from './contract.ts'

export const bundlesExport = operation({
  name: 'bundles.export',
  summary: 'Export an agent as a bundle',
  description:
    "Returns the agent's identity, goals, memory, schedules and everything else from which another agent can be created.",
  input: z.object({ id: AgentRef }),
  output: Bundle,
  http: { method: 'GET', path: '/agents/{id}/bundle' },
  errors: [AgentNotFoundError, AmbiguousAgentError, BundleTooLargeError],
  run: ({ id }, { svc }) => new Bundles(svc).pack(id),
})

export const bundlesImport = operation({
  name: 'bundles.import',
  summary: 'Import an agent from a bundle',
  description: 'Each import creates a new agent.',
  input: z.strictObject({
    bundle: z.looseObject({}).describe('The exported bundle'),
    preset: z.string().min(1).max(64).optional().describe('Profile of the new agent, instead of the one in the bundle'),
    model: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe('Model of the new agent as provider:model, instead of the one in the bundle'),
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
