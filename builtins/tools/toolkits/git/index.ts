import { definePlugin } from '#kernel'
import { gitToolkit } from './toolkit.ts'

export default definePlugin({
  name: 'toolkit-git',
  description: "Tools for a git repository in an agent's workspace.",
  needs: ['sandbox'],
  setup(svc) {
    svc.toolkit(gitToolkit(svc))
  },
})
