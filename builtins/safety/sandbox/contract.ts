import type { FileHandle } from 'node:fs/promises'
import { defineError, token, z } from '#kernel'

export const FOLDER_ACCESS = ['read-only', 'read-write'] as const

/** A folder of this machine that the operator gave to an agent. */
export const GivenFolder = z
  .strictObject({
    path: z.string().meta({ examples: ['/home/ada/project'] }),
    access: z.enum(FOLDER_ACCESS),
    purpose: z
      .enum(['worktree', 'objects', 'packages'])
      .optional()
      .describe(
        "Set by the service: worktree is the agent's git worktree, objects the object folder of its repository, packages a folder of installed packages to which the worktree has a link",
      ),
  })
  .meta({ id: 'GivenFolder' })
export type GivenFolder = z.infer<typeof GivenFolder>

const folderPath = z.string().trim().min(1).max(4096)
/** A folder as written by the operator. */
export const FolderInput = z.union([
  folderPath.meta({ examples: ['/home/ada/project'] }),
  z.strictObject({ path: folderPath, access: z.enum(FOLDER_ACCESS).optional() }),
])
export type FolderInput = z.infer<typeof FolderInput>

/** The folders that an agent's files and programs may use. A tool call has these fields too. */
export interface Reach {
  /** The agent's working folder, absolute; relative paths start here. */
  readonly workspace: string
  /** The agent's own folder for temporary files and long outputs; the workspace by default. Always writable. */
  readonly scratch?: string | undefined
  /** Folders that the operator gave the agent, absolute; none by default. */
  readonly folders?: readonly GivenFolder[] | undefined
}

/** Returns only the folders within reach from a tool call. */
export function reachOf({ workspace, scratch, folders }: Reach): Reach {
  return { workspace, scratch, folders }
}

/** Returns the folders within reach in which the agent may write, its own last. */
function writableFolders({ workspace, scratch = workspace, folders = [] }: Reach): string[] {
  const given = folders.filter(({ access }) => access === 'read-write').map(({ path }) => path)
  return [...new Set([...given, scratch])]
}

/** A program to run for an agent. */
export interface ProcessRequest extends Reach {
  /** The program and its arguments, passed without a shell. */
  argv: readonly [string, ...string[]]
  /** Working folder of the program; the workspace by default. Absolute, and checked to be within reach. */
  cwd?: string
  /** Additional environment variables, which override those that every program gets. */
  env?: Readonly<Record<string, string>>
  /** Whether the program also gets the daemon's environment variables, except those with secrets. */
  pass_env?: boolean
  /** Standard input; empty by default. */
  input?: string
  time_limit_ms: number
  /** Number of bytes kept from each end of an output; 500,000 by default. */
  kept_bytes?: number
  /** Limits of each process of the program; by default those of the configuration. */
  limits?: Partial<ProcessLimits>
  signal?: AbortSignal
  /** Whether the program may use the network; by default `tools.sandbox_network`. */
  network?: boolean
  /** Paths outside the workspace that the program may read or, with `write`, also write inside the sandbox. */
  read?: readonly string[]
  write?: readonly string[]
  /** Called when the program starts. */
  started?: (pid: number) => void
  /** Called with each piece of text that the program writes to either output. */
  wrote?: (text: string) => void
}

export interface ProcessLimits {
  cpu_seconds: number
  /** Private memory of one process, in MiB. */
  memory_mb: number
  /** Size of one file, in MiB. */
  file_mb: number
}

/** Program output, with the middle cut out when it exceeds the limit. */
export interface ProcessOutput {
  head: Buffer
  tail: Buffer
  /** Total size of the output, in bytes. */
  bytes: number
}

export interface ProcessEnd {
  /** Exit code; null when a signal ended the program. */
  code: number | null
  signal: NodeJS.Signals | null
  /** Whether the program exceeded its time limit and was killed with all its processes. */
  timed_out: boolean
  /** Names the limits of its processes if one of them may have ended it. */
  limits?: string
  stdout: ProcessOutput
  stderr: ProcessOutput
  duration_ms: number
}

export const SandboxStatus = z
  .object({
    mode: z.enum(['auto', 'required', 'off']).describe('Value of `tools.sandbox`'),
    wall: z.enum(['bubblewrap', 'none']).describe("Isolation of agents' programs from the machine"),
    network: z.boolean().describe('Whether programs of agents may use the network'),
    reason: z.string().meta({ examples: ['bubblewrap 0.8.0 works here'] }),
  })
  .meta({ id: 'SandboxStatus' })
export type SandboxStatus = z.infer<typeof SandboxStatus>

/** Describes the sandbox in a sentence. */
export function sandboxSentence({ wall, network, reason }: SandboxStatus): string {
  return wall === 'none'
    ? `Programs of agents run with your permissions, without a sandbox: ${reason}.`
    : `Programs of agents run in a sandbox: ${reason}; ${network ? 'they may use the network' : 'they have no network'}.`
}

/** Runs the programs of agents. All of them run through this service. */
export interface Sandbox {
  /**
   * Runs a program to its end, in its own process group. The whole group is killed when the program ends, at its time
   * limit, and when the signal is aborted.
   * @throws NoSandboxError when a sandbox is required and there is none, ProgramError when the program could not be
   * started, and the signal's reason once no process is left
   */
  run(request: ProcessRequest): Promise<ProcessEnd>
  /**
   * Describes a program's end for a model. Output that is too long is saved in a file of the agent, which is named.
   * @param tokens approximate maximum length; 2,000 by default
   */
  describeEnd(end: ProcessEnd, reach: Reach, tokens?: number): Promise<string>
  /**
   * Cuts the middle of a program's output out if it is too long, and saves the output in a file of the agent.
   * @param tokens approximate maximum length; `missing`: number of bytes that the middle lacks already
   * @returns the output for a model, and a note that names the file
   */
  shorten(
    output: string,
    reach: Reach,
    limit: { tokens: number; missing: number },
  ): Promise<{ shown: string; note?: string }>
  /** @deprecated Use `describeEnd`. */
  tell?: Sandbox['describeEnd']
  /**
   * Saves a text that is too long for a model in the agent's own folder. @returns the file's path, for the agent's file
   * tools
   */
  keep(reach: Reach, text: string): Promise<string>
  status(): Promise<SandboxStatus>
  /** Returns the path of a program on our PATH; undefined if there is none. */
  find(program: string): Promise<string | undefined>
}
export const Sandbox = token<Sandbox>('sandbox')

/** An open folder within reach of an agent. It stays valid even if something is renamed or linked meanwhile. */
export interface JailFolder {
  readonly path: string
  /** Returns the path of an entry, valid while the folder is open. */
  at(name: string): string
  /** Opens the subfolder of this name; links are not followed. */
  below(name: string, shownPath: string): Promise<JailFolder>
  close(): Promise<void>
}

/** A path within reach of an agent, after resolution. */
export interface ReachedPath {
  /** Real path, which may have changed since. */
  real: string
  exists: boolean
  /** Real path of the folder within reach that contains it. */
  folder: string
  access: GivenFolder['access']
}

/**
 * Decides whether a file may be replaced, by throwing if not.
 * @param current the present file, open for reading; undefined when there is none
 * @param real the file's real path
 */
export type ReplaceCheck = (current: FileHandle | undefined, real: string) => Promise<void>

/**
 * File access limited to the folders within an agent's reach, however a path is written. Paths are relative to the
 * workspace, or absolute. In folders from the operator, a project's `.svc` and what else decides what it runs are
 * closed.
 */
export interface Jail {
  /** Opens a regular file for reading. The caller closes it. @throws OutsideError, PathError */
  open(reach: Reach, path: string): Promise<FileHandle>
  /** Opens a folder. The caller closes it. @throws OutsideError, PathError */
  folder(reach: Reach, path: string): Promise<JailFolder>
  /**
   * Replaces a whole file, or creates it and its folders.
   * @param check called just before, while no other call of this process replaces the file; if it throws, the file
   * stays unchanged
   * @throws OutsideError, PathError, ReadOnlyError
   */
  replace(reach: Reach, path: string, bytes: Uint8Array, check?: ReplaceCheck): Promise<void>
  /** Resolves a path, whether it exists or not. @throws OutsideError, PathError */
  resolve(reach: Reach, path: string): Promise<ReachedPath>
  /**
   * Checks a folder that the operator gives to an agent, and returns it with its real path.
   * @param usual access when the input does not say
   * @param base folder for relative paths; without it, relative paths are refused
   * @throws FolderError
   */
  admit(given: FolderInput, usual: GivenFolder['access'], base?: string): Promise<GivenFolder>
  /** Returns the real paths of closed folders inside the folders within reach. */
  closedPaths(reach: Reach): Promise<string[]>
  /** @deprecated Use `closedPaths`. */
  closed?: Jail['closedPaths']
}
export const Jail = token<Jail>('jail')

export const OutsideError = defineError({
  code: 'outside_workspace',
  name: 'OutsideError',
  status: 403,
  title: 'Outside the workspace',
  message: (p: { path: string }) =>
    `${JSON.stringify(p.path)} lies outside your workspace; use a path inside it, such as "notes/today.md".`,
})
export const ReadOnlyError = defineError({
  code: 'read_only_folder',
  name: 'ReadOnlyError',
  status: 403,
  title: 'Read-only folder',
  message: (p: { path: string; folder: string; reach: Reach }) =>
    `${JSON.stringify(p.path)} was not changed: the folder ${p.folder} is read-only for you. Write in ${writableFolders(p.reach).join(' or ')}, with the whole path.`,
})
/** A tool cannot use the path: it does not exist, has the wrong type or size, or is closed to agents. */
export const PathError = defineError({
  code: 'bad_path',
  name: 'PathError',
  status: 422,
  title: 'Invalid path',
  message: (p: { path: string; problem: string }) => `${JSON.stringify(p.path)} ${p.problem}.`,
})
/** The folder cannot be given to an agent: it does not exist, holds keys, or is no usable git repository. */
export const FolderError = defineError({
  code: 'bad_folder',
  name: 'FolderError',
  status: 422,
  title: 'Invalid folder',
  message: (p: { path: string; problem: string }) => `The folder ${JSON.stringify(p.path)} ${p.problem}.`,
})
export const NoSandboxError = defineError({
  code: 'no_sandbox',
  status: 503,
  title: 'Sandbox unavailable',
  message: (p: { reason: string }) =>
    `Nothing was run: tools.sandbox is "required", and ${p.reason}. The operator can install bubblewrap, or set tools.sandbox to auto.`,
})
export const ProgramError = defineError({
  code: 'program_not_started',
  name: 'ProgramError',
  status: 422,
  title: 'Program not started',
  message: (p: { program: string; problem: string }) => `${JSON.stringify(p.program)} was not run: ${p.problem}.`,
})
