import { dirname, join, sep } from 'node:path'
import type { PluginHandle } from '#kernel'
import { succeeds } from '#lib/succeeds'
import type { DatabaseImage } from '#platform/store/contract'

/** Folders of `.svc/` whose files are rows in a PostgreSQL database. */
export const FOLDERS = ['memory', 'agent_memory', 'checkpoints']

export const DROP_PACKED_FILES = ['DROP TABLE svc_lines', 'DROP TABLE svc_files']

/**
 * Writes the files that a database contains as rows; `DROP_PACKED_FILES` removes these rows.
 * @param keptFolder where the previous contents of the folders are moved
 * @returns the number of files
 */
export async function unpack(
  { ports, project }: PluginHandle,
  image: DatabaseImage,
  keptFolder: string,
): Promise<number> {
  const { files } = ports
  const staging = join(project.svc, 'unpacking')
  await files.rm(staging, { recursive: true, force: true })
  let unpacked = 0
  for (const { path, body } of image.all<{ path: string; body: string }>('SELECT path, body FROM svc_files')) {
    const file = join(staging, path)
    // Paths in a file of unknown origin must not lead out of the project.
    if (!FOLDERS.some(folder => file.startsWith(join(staging, folder) + sep))) continue
    const lines = image.all<{ line: string }>('SELECT line FROM svc_lines WHERE path = ? ORDER BY n', [path])
    await files.mkdir(dirname(file), { recursive: true, mode: 0o700 })
    await files.writeFile(file, body + lines.map(({ line }) => `${line}\n`).join(''), { mode: 0o600 })
    unpacked++
  }
  for (const folder of FOLDERS) {
    await moveIfExists(ports, join(project.svc, folder), join(keptFolder, folder))
    await moveIfExists(ports, join(staging, folder), join(project.svc, folder))
  }
  await files.rm(staging, { recursive: true, force: true })
  return unpacked
}

async function moveIfExists({ files }: PluginHandle['ports'], from: string, to: string): Promise<void> {
  const exists = await succeeds(files.access(from))
  if (!exists) return
  await files.mkdir(dirname(to), { recursive: true, mode: 0o700 })
  await files.rename(from, to)
}
