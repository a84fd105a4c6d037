import { isAbsolute, join, resolve } from 'node:path'
import { errorMessage, type Ports } from '#kernel'
import { FOLDER_ACCESS, FolderError, type FolderInput, type GivenFolder } from './contract.ts'
import { isClosed, isInside } from './reach.ts'

/** System folders, which are never given to agents. */
const SYSTEM = [
  '/bin',
  '/boot',
  '/dev',
  '/etc',
  '/lib',
  '/lib32',
  '/lib64',
  '/proc',
  '/run',
  '/sbin',
  '/sys',
  '/usr',
  '/Library',
  '/System',
  '/private/etc',
]
/** Shared folders, which contain the folders of several users or programs. */
const SHARED = [
  '/',
  '/home',
  '/media',
  '/mnt',
  '/opt',
  '/srv',
  '/tmp',
  '/var',
  '/var/lib',
  '/var/log',
  '/Users',
  '/Volumes',
  '/private',
  '/private/tmp',
  '/private/var',
]
/** Folders of a home directory that hold keys. */
const KEYS = [
  '.aws',
  '.azure',
  '.config',
  '.docker',
  '.gnupg',
  '.kube',
  '.mozilla',
  '.password-store',
  '.ssh',
  'Library',
]

/**
 * Checks a folder that the operator gives to an agent.
 * @param usual access when the input does not say
 * @param base folder for relative paths; without it, relative paths are refused
 * @returns the folder with its real path
 * @throws FolderError
 */
export async function admitPath(
  { files, env }: Pick<Ports, 'files' | 'env'>,
  given: FolderInput,
  usual: GivenFolder['access'],
  base?: string,
): Promise<GivenFolder> {
  const { path: named, access } = folderOf(given, usual)
  const refuse = (problem: string): never => {
    throw new FolderError({ path: named, problem })
  }
  const home = env.HOME && resolve(env.HOME)
  const spelled = home ? named.replace(/^~(?=\/|$)/, home) : named
  if (base === undefined && !isAbsolute(spelled))
    refuse('is not absolute; write the whole path, such as /home/ada/project')
  const path = await files
    .realpath(resolve(base ?? '/', spelled))
    .catch(error => refuse(isMissing(error) ? 'does not exist; create it first' : errorMessage(error)))
  if (!(await files.stat(path)).isDirectory()) refuse('is not a folder')
  if (SHARED.includes(path) || (home && isInside(home, path)))
    refuse('contains more than one project; give the folder of a single project')
  const system = SYSTEM.find(folder => isInside(path, folder))
  if (system) refuse(`lies in ${system}, a system folder; give the folder of a project`)
  const keys = home && KEYS.map(name => join(home, name)).find(folder => isInside(path, folder))
  if (keys) refuse(`lies in ${keys}, which holds keys; give the folder of a project`)
  if (await isClosed(files, path))
    refuse(`is closed to agents: .svc, plugins, profiles, skills, .agents and logs of a svc project`)
  return { path, access }
}

/** Parses a folder given as `/home/ada/project:ro`, or as an object. */
function folderOf(given: FolderInput, usual: GivenFolder['access']): GivenFolder {
  if (typeof given !== 'string') return { path: given.path, access: given.access ?? usual }
  const [, path = given, short] = /^(.+):(ro|rw)$/.exec(given) ?? []
  const [readOnly, readWrite] = FOLDER_ACCESS
  return { path, access: short === undefined ? usual : short === 'ro' ? readOnly : readWrite }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}
