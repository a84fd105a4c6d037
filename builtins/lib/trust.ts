import { isAbsolute, join } from 'node:path'
import type { Ports } from '#kernel'
import { homeFolder } from './home-folder.ts'
import { succeeds } from './succeeds.ts'

/**
 * Environment variable that trusts the project of this process, for a container, a systemd unit or a build where no
 * user decides.
 */
export const TRUST_VARIABLE = 'SVC_TRUST_PROJECT'

type TrustPorts = Pick<Ports, 'files' | 'env'>

/** A project whose code the user allows to run. */
export interface TrustedProject {
  /** Real path of the project's folder. */
  root: string
  /** Time at which trust was given, as ISO 8601. */
  since: string
}

/**
 * Returns whether this user allows the code of the project at `root` to run: its plugins, and programs that it names.
 */
export async function isTrusted(root: string, ports: TrustPorts): Promise<boolean> {
  if (/^(1|true)$/.test(ports.env[TRUST_VARIABLE] ?? '')) return true
  const { file, real } = await entryOf(root, ports)
  return (await read(file, ports))?.root === real
}

/** Returns the warning for a project whose code does not run. */
export function untrustedSentence(root: string): string {
  return `The plugins of ${root} are not run: you have not trusted this project. To trust it: svc plugins trust --root ${root}`
}

/** Trusts a project from now on. @throws what writing into the user's configuration folder throws */
export async function trust(root: string, ports: TrustPorts & Pick<Ports, 'clock'>): Promise<void> {
  const { file, real } = await entryOf(root, ports)
  if ((await read(file, ports))?.root === real) return
  await ports.files.mkdir(folderOf(ports), { recursive: true, mode: 0o700 })
  const entry: TrustedProject = { root: real, since: ports.clock.now().toISOString() }
  await ports.files.writeFile(file, `${JSON.stringify(entry)}\n`, { mode: 0o600 })
}

/**
 * Revokes the trust.
 * @returns whether the project was trusted
 */
export async function revokeTrust(root: string, ports: TrustPorts): Promise<boolean> {
  const { file } = await entryOf(root, ports)
  return succeeds(ports.files.rm(file))
}

/** Returns the projects that this user trusts, by path. */
export async function trustedProjects(ports: TrustPorts): Promise<TrustedProject[]> {
  const names = await ports.files.readdir(folderOf(ports)).catch(() => [])
  const found = await Promise.all(names.map(name => read(join(folderOf(ports), name), ports)))
  return found.filter(each => each !== undefined).sort((a, b) => a.root.localeCompare(b.root))
}

/** Returns the file for a project. Each project has its own file, so that no two processes write a shared one. */
async function entryOf(root: string, ports: TrustPorts): Promise<{ file: string; real: string }> {
  // Trust in a folder that no longer exists can still be revoked.
  const real = await ports.files.realpath(root).catch(() => root)
  const { createHash } = process.getBuiltinModule('node:crypto')
  return { file: join(folderOf(ports), `${createHash('sha256').update(real).digest('hex')}.json`), real }
}

async function read(file: string, { files }: TrustPorts): Promise<TrustedProject | undefined> {
  try {
    const { root, since } = JSON.parse(await files.readFile(file, 'utf8')) as Partial<TrustedProject>
    return typeof root === 'string' && typeof since === 'string' ? { root, since } : undefined
  } catch {
    return undefined
  }
}

function folderOf({ env }: TrustPorts): string {
  const { XDG_CONFIG_HOME: config = '', HOME } = env
  // The XDG Base Directory Specification requires that a relative path is ignored.
  return join(isAbsolute(config) ? config : join(HOME || homeFolder(), '.config'), 'svc', 'trusted-projects')
}
