import type { PromptSection } from '#core/goals/contract'
import { brief } from '#lib/brief'
import { sanitizeLine } from '#lib/sanitize'
import { timingOf } from './render.ts'
import type { ScheduleBook } from './schedules.ts'

/** Maximum number of schedules that the section names. */
const SHOWN = 10

/** Returns the section that names an agent's recurring goals when it chooses one, so that it chooses another. */
export function schedulesSection(schedules: ScheduleBook): PromptSection {
  return {
    name: 'schedules',
    stage: 890,
    prompts: ['goal_generation'],
    async text({ agent_id }) {
      const own = (await schedules.list(agent_id, false)).slice(0, SHOWN)
      const lines = own.map(each => `- ${timingOf(each)}: ${brief(sanitizeLine(each.objective))}`)
      return lines.length === 0
        ? undefined
        : `Recurring goals, which become yours by themselves; do not choose them:\n${lines.join('\n')}`
    },
  }
}
