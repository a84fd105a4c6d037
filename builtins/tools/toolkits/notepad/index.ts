import { join } from 'node:path'
import { definePlugin } from '#kernel'
import { NotepadConfig } from './config.ts'
import { Notepads } from './notepad.ts'
import { notepadToolkit } from './toolkit.ts'

export default definePlugin({
  name: 'toolkit-notepad',
  description: 'Tools for a notepad that an agent keeps from one goal to the next.',
  setup(svc) {
    const config = svc.section('tools', NotepadConfig)
    const journals = join(svc.project.svc, 'journals')
    svc.toolkit(notepadToolkit(svc, new Notepads(svc.ports, journals, config.notepad_max_bytes), config))
  },
})
