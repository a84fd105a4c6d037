import { definePlugin } from '#kernel'
import { checkpointToolkit } from './toolkit.ts'

export default definePlugin({
  name: 'toolkit-checkpoint',
  description: 'Tools with which an agent keeps itself as it stands, and sees how it has changed since.',
  needs: ['checkpoints'],
  setup: svc => void svc.toolkit(checkpointToolkit(svc)),
})
