import type { Ports } from '#kernel'

/**
 * A plugin file that blocked the process, with its fingerprint. It does not run again until it is changed or reloaded
 * by name.
 */
export interface QuarantinedPlugin {
  plugin: string
  file: string
  fingerprint: string
  /** What the plugin did, with the place in its code: the end of a sentence. */
  reason: string
  /** Time of the quarantine, in ISO 8601. */
  at: string
}

type Files = Pick<Ports['files'], 'readFile' | 'writeFile' | 'rename'>

/**
 * Reads the list from disk. An invalid list counts as empty, which at worst lets a plugin block the process once more.
 */
export async function readQuarantine(files: Files, path: string): Promise<QuarantinedPlugin[]> {
  try {
    const list: unknown = JSON.parse(await files.readFile(path, 'utf8'))
    return Array.isArray(list) ? list.filter(isQuarantined) : []
  } catch {
    return []
  }
}

/** Adds a file to the list, replacing its earlier entry. */
export async function quarantine(files: Files, path: string, entry: QuarantinedPlugin): Promise<void> {
  const others = (await readQuarantine(files, path)).filter(({ file }) => file !== entry.file)
  await write(files, path, [...others, entry])
}

/** Removes a file from the list. @returns whether it was listed */
export async function release(files: Files, path: string, file: string): Promise<boolean> {
  const list = await readQuarantine(files, path)
  const rest = list.filter(entry => entry.file !== file)
  if (rest.length < list.length) await write(files, path, rest)
  return rest.length < list.length
}

/** Returns the error for a quarantined file, with the reason and the remedy. */
export function quarantineError({ reason, at }: QuarantinedPlugin, stem: string): Error {
  const remedy = `Change the file, or run it unchanged with: svc plugins reload ${stem}`
  return new Error(`has been quarantined since ${at}, because it ${reason}. ${remedy}`)
}

async function write(files: Files, path: string, list: readonly QuarantinedPlugin[]): Promise<void> {
  const beside = `${path}.${process.pid}.tmp`
  await files.writeFile(beside, `${JSON.stringify(list, null, 2)}\n`, { mode: 0o600 })
  await files.rename(beside, path)
}

function isQuarantined(entry: unknown): entry is QuarantinedPlugin {
  const { plugin, file, fingerprint, reason, at } = (entry ?? {}) as Partial<QuarantinedPlugin>
  return [plugin, file, fingerprint, reason, at].every(each => typeof each === 'string')
}
