import { dirname, join } from 'node:path'
import { type Log, type Ports, sentenceOf, z } from '#kernel'
import { KEYED, keyedId } from './values.ts'

/** What an earlier program kept for an agent: values by key in one JSON file, taken over once. */
export interface Legacy {
  records: readonly { memory_id: string; thought: string; metadata: Record<string, string> }[]
  /** Called when they are stored: they are not looked for again. */
  done(): Promise<void>
}

/** @returns undefined when there is nothing to take over, or it was taken over before */
export async function readLegacy(
  svc: string,
  agent_id: string,
  { files, log }: { files: Ports['files']; log: Log },
): Promise<Legacy | undefined> {
  const file = join(svc, 'agent_memory', `${agent_id}.json`)
  const marker = join(svc, 'memory', agent_id, '.legacy_json_migrated')
  const text = await files.readFile(file, 'utf8').catch(() => undefined)
  if (
    text === undefined ||
    (await files
      .access(marker)
      .then(() => true)
      .catch(() => false))
  )
    return undefined
  const done = async () => {
    await files.mkdir(dirname(marker), { recursive: true, mode: 0o700 })
    await files.writeFile(marker, '', { mode: 0o600 })
  }
  try {
    const values = z.record(z.string(), z.unknown()).parse(JSON.parse(text))
    return { records: Object.entries(values).map(([key, value]) => recordOf(key, value)), done }
  } catch (error) {
    log.warn({ agent_id }, `${file} is not taken over: ${sentenceOf(error)}`)
    return { records: [], done }
  }
}

/** The id follows from the key: taken over twice, it is one record. */
function recordOf(key: string, value: unknown): Legacy['records'][number] {
  const thought = typeof value === 'string' ? value : JSON.stringify(value)
  return { memory_id: keyedId(key), thought, metadata: { kind: KEYED, key, source: 'legacy_json' } }
}
