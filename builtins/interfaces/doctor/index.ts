import { definePlugin } from '#kernel'
import { ownChecks } from './checks.ts'
import { DoctorChecks } from './contract.ts'
import { doctorChecks } from './operations.ts'

export default definePlugin({
  name: 'doctor',
  description: 'Says what is wrong with the machine, the project and its processes, and what to do about it.',
  setup(svc) {
    for (const check of ownChecks(svc)) svc.add(DoctorChecks, check)
    svc.operation(doctorChecks)
  },
})
