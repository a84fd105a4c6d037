import { definePlugin } from '#kernel'
import { worldToolkit } from './toolkit.ts'

export default definePlugin({
  name: 'toolkit-world',
  description: 'Tools to earn, learn, spend and bet in the simulated world.',
  needs: ['economy'],
  setup(svc) {
    const { tools, ...kit } = worldToolkit(svc)
    // Without an economy they would only cost tokens. The configuration is there once this is looked at.
    const on = () => svc.config.get('economy.enabled') === true
    svc.toolkit({
      ...kit,
      get tools() {
        return on() ? tools : []
      },
    })
  },
})
