import { definePlugin } from '#kernel'
import { worldToolkit } from './toolkit.ts'

export default definePlugin({
  name: 'toolkit-world',
  description: 'Tools to earn, learn, spend and bet in the simulated world.',
  needs: ['economy'],
  setup(svc) {
    const { tools, ...kit } = worldToolkit(svc)
    // Without an economy the tools would only cost tokens. Checked on access, when the configuration is available.
    const on = () => svc.config.get('economy.enabled') === true
    svc.toolkit({
      ...kit,
      get tools() {
        return on() ? tools : []
      },
    })
  },
})
