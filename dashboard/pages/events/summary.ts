import { describeEvent } from '../../../builtins/lib/event-text.ts'
import { visible } from '../../ui/text/format.ts'

const MOST = 240

/** Summarizes an event in one line; the whole event is shown below it on request. */
export function summaryOf(type: string, data: Record<string, unknown>): string {
  return visible(describeEvent(type, data).slice(0, MOST))
}
