import { definePlugin } from '#kernel'
import { WebConfig } from './config.ts'
import { webToolkit } from './toolkit.ts'

export default definePlugin({
  name: 'toolkit-web',
  description: 'Tools with which an agent reads pages of the web and searches it.',
  needs: ['net'],
  setup(svc) {
    svc.toolkit(webToolkit(svc, svc.section('tools', WebConfig)))
  },
})
