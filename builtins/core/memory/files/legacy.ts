import { dirname, join, relative } from 'node:path'
import { errorMessage, type Log, type Ports, z } from '#kernel'
import type { SharedFiles } from '#platform/store/contract'
import { PlainNote } from '../notes.ts'
import { KEYED, keyedId } from '../values.ts'

/** Plain JSON data of an agent, from an earlier version or from `memory.unified: false`; imported once. */
export interface Legacy {
  records: readonly { memory_id: string; thought: string; metadata: Record<string, unknown>; ts?: string }[]
  /** Called when the records are stored, so that they are not read again. */
  markStored(): Promise<void>
}

/** Paths of the plain JSON files with values and notes. */
export const valuesFile = (svc: string, agent_id: string) => join(svc, 'agent_memory', `${agent_id}.json`)
export const notesFile = (svc: string, agent_id: string) => join(svc, 'memory', agent_id, 'notes.json')

/**
 * @param shared storage of several machines, which is read before this machine's own files
 * @returns undefined when there is nothing to import, or it was imported before
 */
export async function readLegacy(
  svc: string,
  agent_id: string,
  { files, log, shared }: { files: Ports['files']; log: Log; shared: SharedFiles | undefined },
): Promise<Legacy | undefined> {
  const marker = join(svc, 'memory', agent_id, '.legacy_json_migrated')
  const textOf = async (file: string) =>
    (await shared?.read(relative(svc, file)))?.text ?? (await files.readFile(file, 'utf8').catch(() => undefined))
  if ((await textOf(marker)) !== undefined) return undefined
  const read = async <T>(file: string, thing: z.ZodType<T>): Promise<[string, T][] | undefined> => {
    const text = await textOf(file)
    if (text === undefined) return undefined
    try {
      return Object.entries(z.record(z.string(), thing).parse(JSON.parse(text)))
    } catch (error) {
      log.warn({ agent_id }, `cannot import ${file}: ${errorMessage(error)}`)
      return []
    }
  }
  const values = await read(valuesFile(svc, agent_id), z.unknown())
  const notes = await read(notesFile(svc, agent_id), PlainNote)
  if (!values && !notes) return undefined
  return {
    records: [
      ...(notes ?? []).map(([memory_id, note]) => ({ memory_id, ...note })),
      ...(values ?? []).map(([key, value]) => recordOf(key, value)),
    ],
    async markStored() {
      if (shared) return void (await shared.replace(relative(svc, marker), '', 0))
      await files.mkdir(dirname(marker), { recursive: true, mode: 0o700 })
      await files.writeFile(marker, '', { mode: 0o600 })
    },
  }
}

/** The id is derived from the key, so importing twice yields one record. */
function recordOf(key: string, value: unknown): Legacy['records'][number] {
  const thought = typeof value === 'string' ? value : JSON.stringify(value)
  return { memory_id: keyedId(key), thought, metadata: { kind: KEYED, key, source: 'legacy_json' } }
}
