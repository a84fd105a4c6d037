import { api } from './client.ts'
import { ofKinds, useQuery } from './query.ts'

/** Returns the providers and the default model. */
export const useModels = () =>
  useQuery('models', { ask: () => api.models.list(), on: ofKinds('config_changed', 'plugin_', 'model_') })
