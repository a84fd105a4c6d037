import { definePlugin } from '#kernel'
import { FileLimits, fileToolkit } from './toolkit.ts'

export default definePlugin({
  name: 'toolkit-file',
  description: "Tools to read, write, edit and list the files of an agent's workspace.",
  setup(svc) {
    svc.toolkit(fileToolkit(svc.ports, svc.section('tools', FileLimits)))
  },
})
