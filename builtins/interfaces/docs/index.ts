import { StaticRoutes } from '#interfaces/rest/contract'
import { definePlugin } from '#kernel'
import { explorerRoutes } from './explorers.ts'

export default definePlugin({
  name: 'docs',
  description: 'API explorers at /docs and /redoc.',
  setup(svc) {
    for (const route of explorerRoutes(svc.ports.files)) svc.add(StaticRoutes, route)
  },
})
