import { definePlugin } from '#kernel'
import { scheduleToolkit } from './toolkit.ts'

export default definePlugin({
  name: 'toolkit-schedule',
  description: 'Tools with which an agent gives itself goals that come again and again.',
  needs: ['schedules'],
  setup: svc => void svc.toolkit(scheduleToolkit(svc)),
})
