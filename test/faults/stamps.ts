import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Plugin with a tool whose effects can be counted, and that must not be repeated. */
export const STAMP = `
import { definePlugin, tool, z } from 'svc'
export default definePlugin({
  name: 'stamp',
  setup(svc) {
    svc.toolkit({ name: 'stamp', tools: [tool({
      name: 'stamp', description: 'Stamps.', parameters: z.object({ n: z.number() }),
      async execute({ n }, call) {
        await svc.ports.files.appendFile(svc.project.root + '/stamps.log', call.call_id + ' ' + call.agent_id + ' ' + call.goal_id + ' ' + n + '\\n')
        await svc.clock.sleep(20)
        return 'stamped ' + n
      },
    })] })
  },
})`

export interface Stamp {
  agent_id: string
  call_id: string
  goal_id: string
  n: string
}

/** A row of the journal. */
export interface StampCall {
  call_id: string
  outcome: string | null
  is_error: number | null
}
export const STAMP_CALLS = "SELECT call_id, outcome, is_error FROM tool_calls WHERE tool = 'stamp'"

/** Returns what the tool has done in a project. */
export async function stampsIn(root: string): Promise<Stamp[]> {
  const lines = await readFile(join(root, 'stamps.log'), 'utf8').catch(() => '')
  return lines
    .split('\n')
    .filter(Boolean)
    .map(line => {
      const [call_id = '', agent_id = '', goal_id = '', n = ''] = line.split(' ')
      return { call_id, agent_id, goal_id, n }
    })
}

/**
 * Returns the differences between the work done and the journal, as messages.
 * @param key identifies work that must be done once
 * @param later the work that was done by the time the journal had been read, if a daemon runs
 */
export function brokenStamps(
  stamps: readonly Stamp[],
  journal: readonly StampCall[],
  key: (stamp: Stamp) => string,
  later = stamps,
): string[] {
  const faults: string[] = []
  const none = (what: string, found: readonly unknown[]) => {
    if (found.length > 0) faults.push(`${what}: ${JSON.stringify(found).slice(0, 500)}`)
  }
  const seen = new Set<string>()
  const twice = later.filter(stamp => seen.size === seen.add(key(stamp)).size)
  none('stamped twice', twice)
  const known = new Set(journal.map(row => row.call_id))
  none(
    'stamps without a row in the journal',
    stamps.filter(({ call_id }) => !known.has(call_id)),
  )
  const stamped = new Set(later.map(({ call_id }) => call_id))
  none(
    'outcomes reported of what did not happen',
    journal.filter(row => row.outcome !== null && row.is_error === 0 && !stamped.has(row.call_id)),
  )
  return faults
}
