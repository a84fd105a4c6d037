import { createHash } from 'node:crypto'
import { join, relative } from 'node:path'
import type { PluginHandle } from '#kernel'
import { type ChangedFile, changedFiles, PLAIN_DIFF } from '#lib/changed-files'
import { gitRequest } from '#lib/git'
import { keyedMutex } from '#lib/keyed-mutex'
import { succeeds } from '#lib/succeeds'
import { type GivenFolder, Jail, type ProcessEnd, Sandbox } from '#safety/sandbox/contract'
import { SnapshotFailedError } from './contract.ts'

/** Time limit of git: half of the default of `daemon.tool_timeout`, because the first call of a goal waits for it. */
const TIME_LIMIT_MS = 30_000
/** Limits of a snapshot: the size of a file, and the number and size of the files that are new to it, in bytes. */
const MAX_FILE = 10_000_000
const MAX_FILES = 20_000
const MAX_BYTES = 200_000_000
/** Size of the list of these files, in bytes. */
const MAX_LIST = 4_000_000
/** Maximum size of a shown patch, in bytes. */
const MAX_PATCH = 200_000
/** Folders that tools fill with files of others. The ignore rules of the folder apply too. */
const IGNORED = ['node_modules/', '.venv/', 'venv/', '__pycache__/', '.svc/']
/** Files are stored as they are, whatever the folder says of line ends and filters. */
const ATTRIBUTES = '* -text -filter -ident -working-tree-encoding\n'
/** Objects younger than this are not pruned: a snapshot may be about to name them. */
const PRUNED_AFTER = '1.hour.ago'

interface GitInput {
  access?: GivenFolder['access']
  input?: string
  index?: string
  signal?: AbortSignal | undefined
}

/** Differences of two snapshots. */
export interface Difference {
  changed: ChangedFile[]
  patch: string
  truncated: boolean
}

/**
 * Snapshots of folders as trees in git repositories of the service: `.svc/snapshots/<folder>`. The folder itself need be
 * no repository; if it is one, that repository is neither used nor changed.
 */
export class Snapshots {
  readonly #svc: PluginHandle
  readonly #inTurn = keyedMutex()

  constructor(svc: PluginHandle) {
    this.#svc = svc
  }

  /** Stores the present files of a folder. @returns the tree @throws SnapshotFailedError, ProgramError */
  take(folder: string, signal?: AbortSignal): Promise<string> {
    return this.#inTurn(folder, async () => {
      const { files, ids } = this.#svc.ports
      const repository = await this.#prepare(folder)
      // A copy, so that a snapshot that fails, or one of another process, leaves the index whole.
      const [kept, index] = [join(repository, 'index'), join(repository, ids.make('index', 8))]
      await this.#copyIndex(kept, index)
      try {
        const names = await this.#newNames(folder, { index, signal })
        const input = names.map(name => `${name}\0`).join('')
        const update = ['update-index', '--add', '--remove', '--replace', '-z', '--stdin']
        if (names.length > 0) await this.#git(folder, update, { index, input, signal })
        const tree = await this.#git(folder, ['write-tree'], { index, signal })
        await files.rename(index, kept)
        return tree.trim()
      } finally {
        await files.rm(index, { force: true })
      }
    })
  }

  async difference(folder: string, from: string, to: string): Promise<Difference> {
    const changed = await this.changedFiles(folder, from, to)
    const { stdout } = await this.#run(folder, ['diff', ...PLAIN_DIFF, from, to])
    const patch = stdout.head.subarray(0, MAX_PATCH).toString()
    return { changed, patch, truncated: stdout.bytes > MAX_PATCH }
  }

  changedFiles(folder: string, from: string, to: string): Promise<ChangedFile[]> {
    return changedFiles((...options) => this.#git(folder, ['diff', ...PLAIN_DIFF, ...options, from, to]))
  }

  /**
   * Makes the changes between two snapshots in the folder's present files: in all of them, or in none.
   * @returns the files that prevent it
   */
  apply(folder: string, from: string, to: string): Promise<string[]> {
    return this.#inTurn(folder, async () => {
      const { files, ids } = this.#svc.ports
      const patch = join(this.#repository(folder), ids.make('patch', 8))
      try {
        await this.#git(folder, ['diff', ...PLAIN_DIFF, '--binary', '--full-index', `--output=${patch}`, from, to])
        const end = await this.#run(folder, ['apply', '--whitespace=nowarn', patch], { access: 'read-write' })
        if (end.code === 0) return []
        const names = [...end.stderr.head.toString().matchAll(REFUSED)].map(([, name]) => name!)
        if (names.length === 0) throw failed(folder, end)
        return [...new Set(names)]
      } finally {
        await files.rm(patch, { force: true })
      }
    })
  }

  /** Removes the objects of all snapshots but these; the whole repository if none is left. */
  prune(folder: string, trees: readonly string[]): Promise<void> {
    return this.#inTurn(folder, async () => {
      if (trees.length > 0) await this.#git(folder, ['prune', `--expire=${PRUNED_AFTER}`, '--', ...new Set(trees)])
      else await this.#svc.ports.files.rm(this.#repository(folder), { recursive: true, force: true })
    })
  }

  #repository(folder: string): string {
    const name = createHash('sha256').update(folder).digest('hex').slice(0, 16)
    return join(this.#svc.project.svc, 'snapshots', name)
  }

  async #prepare(folder: string): Promise<string> {
    const { files } = this.#svc.ports
    const repository = this.#repository(folder)
    if (!(await files.stat(join(repository, 'HEAD')).catch(() => undefined))) {
      await files.mkdir(repository, { recursive: true, mode: 0o700 })
      await this.#git(folder, ['init', '--quiet', '--template='])
    }
    await files.mkdir(join(repository, 'info'), { recursive: true })
    const closed = await this.#svc.use(Jail).closedPaths({ workspace: folder, folders: [given(folder)] })
    const ignored = [...IGNORED, ...closed.map(path => `/${literal(relative(folder, path))}`)]
    await files.writeFile(join(repository, 'info/exclude'), ignored.map(line => `${line}\n`).join(''))
    await files.writeFile(join(repository, 'info/attributes'), ATTRIBUTES)
    return repository
  }

  /** git compares contents only of files that changed in the second of the index or later, so a copy keeps its time. */
  async #copyIndex(from: string, to: string): Promise<void> {
    const { files } = this.#svc.ports
    const found = await files.stat(from).catch(() => undefined)
    if (!found) return
    await files.copyFile(from, to)
    const seconds = Math.floor(found.mtimeMs) / 1000
    await files.utimes(to, seconds, seconds)
  }

  /** Returns the paths of files that differ from the index, without those that are too large or unreadable. */
  async #newNames(folder: string, how: GitInput): Promise<string[]> {
    const list = ['ls-files', '--others', '--modified', '--deleted', '--exclude-standard', '-z']
    const { stdout } = await this.#run(folder, list, how)
    // A name that ends with a slash is a repository inside the folder.
    const names = stdout.head
      .toString()
      .split('\0')
      .filter(name => name !== '' && !name.endsWith('/'))
    if (stdout.bytes > MAX_LIST || names.length > MAX_FILES)
      throw new SnapshotFailedError({ folder, problem: `it has more than ${MAX_FILES} files that git does not ignore` })
    const sizes = new Map<string, number>()
    for (const name of new Set(names)) {
      const size = await this.#sizeOf(join(folder, name))
      if (size !== undefined && size <= MAX_FILE) sizes.set(name, size)
    }
    const bytes = [...sizes.values()].reduce((sum, size) => sum + size, 0)
    if (bytes > MAX_BYTES)
      throw new SnapshotFailedError({
        folder,
        problem: `it has more than ${MAX_BYTES / 1e6} MB that git does not ignore`,
      })
    return [...sizes.keys()]
  }

  /** Returns the size of a file, 0 for one that is gone, and undefined for one that cannot be read. */
  async #sizeOf(path: string): Promise<number | undefined> {
    const { files } = this.#svc.ports
    const found = await files.lstat(path).catch(() => undefined)
    if (!found?.isFile()) return 0
    const isReadable = await succeeds(files.access(path, files.constants.R_OK))
    return isReadable ? found.size : undefined
  }

  async #git(folder: string, args: readonly string[], how: GitInput = {}): Promise<string> {
    const end = await this.#run(folder, args, how)
    if (end.code !== 0) throw failed(folder, end)
    return end.stdout.head.toString()
  }

  #run(folder: string, args: readonly string[], { access, input = '', index, signal }: GitInput = {}) {
    const { argv, env } = gitRequest(folder, 'svc', args)
    const repository = this.#repository(folder)
    return this.#svc.use(Sandbox).run({
      argv,
      env: { ...env, GIT_DIR: repository, ...(index === undefined ? {} : { GIT_INDEX_FILE: index }) },
      workspace: folder,
      scratch: repository,
      folders: [given(folder, access)],
      cwd: folder,
      input,
      network: false,
      time_limit_ms: TIME_LIMIT_MS,
      kept_bytes: MAX_LIST,
      ...(signal ? { signal } : {}),
    })
  }
}

/** A line in which `git apply` names a file that it cannot change. */
const REFUSED =
  /^error: (?!patch failed)(.+): (?:patch does not apply|No such file or directory|already exists in working directory|does not match.*|wrong type|.*beyond a symbolic link)$/gm

const given = (path: string, access: GivenFolder['access'] = 'read-only'): GivenFolder => ({ path, access })

/** Returns the ignore rule that matches just this path. */
const literal = (path: string) => path.replace(/[\\*?[\]!# ]/g, '\\$&')

function failed(folder: string, { stderr, signal, timed_out }: ProcessEnd) {
  const printed = stderr.head.toString().trim().split('\n').slice(0, 3).join(' ')
  const problem = timed_out
    ? `git took more than ${TIME_LIMIT_MS / 1000} s`
    : printed || `git ended (${signal ?? 'no output'})`
  return new SnapshotFailedError({ folder, problem })
}
