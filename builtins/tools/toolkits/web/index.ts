import { definePlugin } from '#kernel'
import { DoctorChecks } from '#lib/doctor-check'
import { searchCheck } from './check.ts'
import { WebConfig } from './config.ts'
import { webToolkit } from './toolkit.ts'

export default definePlugin({
  name: 'toolkit-web',
  description: 'Tools to search the web and to read its pages.',
  needs: ['net'],
  setup(svc) {
    const config = svc.section('tools', WebConfig)
    svc.toolkit(webToolkit(svc, config))
    svc.add(DoctorChecks, searchCheck(config))
  },
})
