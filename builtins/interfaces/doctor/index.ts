import { definePlugin } from '#kernel'
import { ownChecks } from './checks.ts'
import { DoctorChecks } from './contract.ts'
import { doctorChecks } from './operations.ts'

export default definePlugin({
  name: 'doctor',
  description: 'Diagnoses problems of the machine, the project and its processes, and suggests fixes.',
  setup(svc) {
    for (const check of ownChecks(svc)) svc.add(DoctorChecks, check)
    svc.operation(doctorChecks)
  },
})
