import { definePlugin } from '#kernel'
import { exportOperations } from './operations.ts'

export default definePlugin({
  name: 'export',
  description: 'A run as one HTML page that needs nothing else.',
  needs: ['store', 'runs'],
  setup(svc) {
    for (const operation of exportOperations) svc.operation(operation)
  },
})
