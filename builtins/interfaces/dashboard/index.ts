import { StaticRoutes } from '#interfaces/rest/contract'
import { definePlugin } from '#kernel'
import { pageRoutes } from './page.ts'

export default definePlugin({
  name: 'dashboard',
  description: 'The dashboard at /, which shows agents and their goals live.',
  setup(svc) {
    for (const route of pageRoutes(svc.ports.files)) svc.add(StaticRoutes, route)
  },
})
