import { definePlugin } from '#kernel'
import { DoctorChecks } from '#lib/doctor-check'
import { DaemonStarts } from '#platform/daemon/contract'
import { disabledNamesCheck, offCheck, restartCheck, settingsCheck, warnOfSettings } from './checks.ts'
import { ConfigChecks } from './contract.ts'
import { settingsOperations } from './operations.ts'

export default definePlugin({
  name: 'settings',
  description: 'Shows, checks and changes the configuration. Changes keep your comments and formatting.',
  setup(svc) {
    for (const operation of settingsOperations) svc.operation(operation)
    svc.add(ConfigChecks, disabledNamesCheck(svc))
    svc.add(DoctorChecks, settingsCheck(svc))
    svc.add(DoctorChecks, restartCheck(svc))
    svc.add(DoctorChecks, offCheck(svc))
    svc.add(DaemonStarts, { name: 'settings', begin: () => warnOfSettings(svc) })
  },
})
