import { type DoctorCheck, finding } from '#lib/doctor-check'
import type { WebConfig } from './config.ts'
import { serviceOf } from './service.ts'

/** Says which service answers the agents' searches, and why. It asks nothing of the service. */
export function searchCheck(config: WebConfig): DoctorCheck {
  return {
    name: 'web_search',
    async run() {
      const { name, reason, problem } = serviceOf(config)
      const message = `Web searches go to ${name}, because ${reason}`
      return problem ? finding.warn(message, problem) : finding.ok(message)
    },
  }
}
