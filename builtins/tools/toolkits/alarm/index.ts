import { definePlugin } from '#kernel'
import { alarmToolkit } from './toolkit.ts'

export default definePlugin({
  name: 'toolkit-alarm',
  description: "Tools for an agent's reminders.",
  needs: ['schedules'],
  setup: svc => void svc.toolkit(alarmToolkit(svc)),
})
