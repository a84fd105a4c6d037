import { definePlugin } from '#kernel'
import { NetConfig } from './config.ts'
import { GuardedFetch, WebPages } from './contract.ts'
import { Guard } from './guard.ts'
import { webPages } from './pages.ts'

export default definePlugin({
  name: 'net',
  description: 'Network access for addresses that agents choose: public addresses only, checked and pinned.',
  section: 'tools',
  config: NetConfig,
  setup(svc, config) {
    svc.provide(GuardedFetch, new Guard(svc, config, svc.ports.lookup))
    svc.provide(WebPages, webPages(svc))
  },
})
