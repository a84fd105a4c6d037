import { definePlugin } from '#kernel'
import { alarmToolkit } from './toolkit.ts'

export default definePlugin({
  name: 'toolkit-alarm',
  description: 'Tools with which an agent has itself told something at a time.',
  needs: ['schedules'],
  setup: svc => void svc.toolkit(alarmToolkit(svc)),
})
