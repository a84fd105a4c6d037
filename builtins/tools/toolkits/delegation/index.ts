import { definePlugin } from '#kernel'
import { Specialists } from '#society/swarm/contract'
import { delegationToolkit } from './toolkit.ts'

export default definePlugin({
  name: 'toolkit-delegation',
  description: 'Tools to delegate a goal to another agent and to follow its result.',
  needs: ['delegation'],
  setup(svc) {
    const [choosing, plain] = [delegationToolkit(svc, true), delegationToolkit(svc, false)]
    // Checked on access, when the swarm is available.
    const toolkit = {
      ...plain,
      get tools() {
        return (svc.has(Specialists) && svc.use(Specialists).acting ? choosing : plain).tools
      },
    }
    let remove = svc.toolkit(toolkit)
    svc.on('config_changed', ({ keys }) => {
      if (!keys.includes('swarm.policy')) return
      // Tools are cached until a toolkit changes.
      remove()
      remove = svc.toolkit(toolkit)
    })
  },
})
