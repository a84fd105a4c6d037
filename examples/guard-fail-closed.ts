// A guard for safety: agents pursue goals only while the file `permit.json` in the project grants it.
// It fails closed: if the permit cannot be read, the guard throws and the phase is not entered.
import { join } from 'node:path'
import { definePlugin, z } from 'svc'

const Permit = z.object({ granted: z.boolean() })

export default definePlugin({
  name: 'permit',
  description: 'Agents pursue goals only while permit.json permits it.',
  setup(svc) {
    const file = join(svc.project.root, 'permit.json')
    const shouldProceed = async () => {
      const text = await svc.ports.files.readFile(file, 'utf8')
      return Permit.parse(JSON.parse(text)).granted
    }
    svc.guard('goal_pursuit', { shouldProceed }, { failClosed: true })
  },
})
