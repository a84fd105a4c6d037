import { definePlugin } from '#kernel'
import { alarmToolkit } from './toolkit.ts'

export default definePlugin({
  name: 'toolkit-alarm',
  description: 'Tools with which an agent sets its own reminders.',
  needs: ['schedules'],
  setup: svc => void svc.toolkit(alarmToolkit(svc)),
})
