import { definePlugin } from '#kernel'
import { StaticRoutes } from '../rest/contract.ts'
import { pageRoutes } from './page.ts'

export default definePlugin({
  name: 'dashboard',
  description: 'The page at / that shows agents and their goals live.',
  setup(svc) {
    for (const route of pageRoutes(svc.ports.files)) svc.add(StaticRoutes, route)
  },
})
