import { MissingDependencyError } from '#kernel'
import type { ModelProvider } from './contract.ts'

function missing() {
  return new MissingDependencyError({ package: '@anthropic-ai/sdk', purpose: 'models of Anthropic' })
}

/** Anthropic's models, which have a protocol and a package of their own. */
export const anthropic: ModelProvider = {
  name: 'anthropic',
  availability: async () => ({ available: false, reason: missing().message }),
  stream() {
    throw missing()
  },
}
