import { definePlugin } from '#kernel'
import { scheduleToolkit } from './toolkit.ts'

export default definePlugin({
  name: 'toolkit-schedule',
  description: "Tools for an agent's recurring goals.",
  needs: ['schedules'],
  setup: svc => void svc.toolkit(scheduleToolkit(svc)),
})
