import type { Ports } from '#kernel'

/** A plugin's file that blocked the process, with its fingerprint: it does not run again until it is changed or reloaded by name. */
export interface QuarantinedPlugin {
  plugin: string
  file: string
  fingerprint: string
  /** What it did, with the place in its code: the end of a sentence. */
  reason: string
  /** ISO 8601. */
  at: string
}

type Files = Pick<Ports['files'], 'readFile' | 'writeFile' | 'rename'>

/** The list on disk; what is no list counts as empty, since the price of that is one more hold-up. */
export async function readQuarantine(files: Files, path: string): Promise<QuarantinedPlugin[]> {
  try {
    const list: unknown = JSON.parse(await files.readFile(path, 'utf8'))
    return Array.isArray(list) ? list.filter(isQuarantined) : []
  } catch {
    return []
  }
}

/** Puts a file there, in the place of what was said of it before. */
export async function quarantine(files: Files, path: string, entry: QuarantinedPlugin): Promise<void> {
  const others = (await readQuarantine(files, path)).filter(({ file }) => file !== entry.file)
  await write(files, path, [...others, entry])
}

/** Takes a file off the list. @returns whether it was there */
export async function release(files: Files, path: string, file: string): Promise<boolean> {
  const list = await readQuarantine(files, path)
  const rest = list.filter(entry => entry.file !== file)
  if (rest.length < list.length) await write(files, path, rest)
  return rest.length < list.length
}

/** Why such a file is not run, and what lifts that. */
export function quarantineError({ reason, at }: QuarantinedPlugin, stem: string): Error {
  const remedy = `Change the file, or try it as it is with: svc plugins reload ${stem}`
  return new Error(`is quarantined since ${at}, because it ${reason}. ${remedy}`)
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
