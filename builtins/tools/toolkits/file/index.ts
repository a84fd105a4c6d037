import { definePlugin } from '#kernel'
import { FileConfig } from './config.ts'
import { fileToolkit } from './toolkit.ts'

export default definePlugin({
  name: 'toolkit-file',
  description: "Tools to read, write, edit and list the files of an agent's workspace.",
  needs: ['sandbox'],
  setup(svc) {
    svc.toolkit(fileToolkit(svc, svc.section('tools', FileConfig)))
  },
})
