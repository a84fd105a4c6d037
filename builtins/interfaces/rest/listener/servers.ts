import { join } from 'node:path'
import type { Ports, Undo } from '#kernel'
import { identityOf } from '#lib/identity'
import { replaceFile } from '#lib/yaml'
import type { FoundServer } from '../contract.ts'

/** Folder in `.svc/` with one description file per server, for other processes. */
const FOLDER = 'servers'

type ServerPorts = Pick<Ports, 'files' | 'spawn'>
/** A server as it described itself; `process` distinguishes its process from a later one with the same PID. */
interface Description extends FoundServer {
  process: string
}

/**
 * Describes a server of this process for other processes, and removes files of servers that are gone.
 * @returns a function that removes the description
 */
export async function describeServer(ports: ServerPorts, svc: string, server: Omit<FoundServer, 'pid'>): Promise<Undo> {
  const folder = join(svc, FOLDER)
  const file = join(folder, `${process.pid}-${server.port}.json`)
  const remove = (path: string) => ports.files.rm(path, { force: true }).catch(() => {})
  await ports.files.mkdir(folder, { recursive: true, mode: 0o700 })
  for (const { path, found } of await readServerFiles(ports, svc)) if (!found) await remove(path)
  const description = { pid: process.pid, process: await identityOf(ports, process.pid), ...server }
  await replaceFile(ports.files, file, `${JSON.stringify(description)}\n`)
  return () => remove(file)
}

/** Returns the project's running servers, as they described themselves. */
export async function findServers(ports: ServerPorts, svc: string): Promise<FoundServer[]> {
  return (await readServerFiles(ports, svc)).flatMap(({ found }) => found ?? [])
}

/** Reads each description file, with its server where that runs. */
async function readServerFiles(
  ports: ServerPorts,
  svc: string,
): Promise<{ path: string; found: FoundServer | undefined }[]> {
  const folder = join(svc, FOLDER)
  const names = await ports.files.readdir(folder).catch(() => [])
  const paths = names.filter(name => /^\d+-\d+\.json$/.test(name)).map(name => join(folder, name))
  return Promise.all(paths.map(async path => ({ path, found: await readServer(ports, path) })))
}

async function readServer(ports: ServerPorts, path: string): Promise<FoundServer | undefined> {
  try {
    const { process, ...server } = JSON.parse(await ports.files.readFile(path, 'utf8')) as Description
    return (await identityOf(ports, server.pid)) === process ? server : undefined
  } catch {
    return undefined
  }
}
