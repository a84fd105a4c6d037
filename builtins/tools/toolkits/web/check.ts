import { type DoctorCheck, finding } from '#lib/doctor-check'
import type { WebConfig } from './config.ts'
import { serviceOf } from './service.ts'

/** Reports which search service the agents use, and why. Sends no request to the service. */
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
