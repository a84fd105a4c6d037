import { definePlugin } from '#kernel'
import { exportOperations } from './operations.ts'

export default definePlugin({
  name: 'export',
  description: 'Exports a run as one self-contained HTML page.',
  needs: ['store', 'runs'],
  setup(svc) {
    for (const operation of exportOperations) svc.operation(operation)
  },
})
