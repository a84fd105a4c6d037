import type { FileHandle } from 'node:fs/promises'
import { defineError, token, z } from '#kernel'

export const FOLDER_ACCESS = ['read-only', 'read-write'] as const

/** A folder of the machine that the operator gave to an agent. */
export const GivenFolder = z
  .strictObject({
    path: z.string().meta({ examples: ['/home/ada/project'] }),
    access: z.enum(FOLDER_ACCESS),
    purpose: z
      .enum(['worktree', 'objects'])
      .optional()
      .describe("Made by the service: the agent's git worktree, or the objects of the repository that it belongs to"),
  })
  .meta({ id: 'GivenFolder' })
export type GivenFolder = z.infer<typeof GivenFolder>

const folderPath = z.string().trim().min(1).max(4096)
/** A folder as the operator writes it down. */
export const FolderInput = z.union([
  folderPath.meta({ examples: ['/home/ada/project'] }),
  z.strictObject({ path: folderPath, access: z.enum(FOLDER_ACCESS).optional() }),
])
export type FolderInput = z.infer<typeof FolderInput>

/** The folders that files and programs of an agent may use. A tool's call is one. */
export interface Reach {
  /** Where the agent works, absolute; relative paths begin here. */
  readonly workspace: string
  /** The agent's own folder, for its temporary files and long outputs; the workspace by default. It may be written. */
  readonly scratch?: string | undefined
  /** The folders that the operator gave it, absolute; by default it has its own only. */
  readonly folders?: readonly GivenFolder[] | undefined
}

/** Returns the folders within reach of a call alone. */
export function reachOf({ workspace, scratch, folders }: Reach): Reach {
  return { workspace, scratch, folders }
}

/** A program to run for an agent. */
export interface ProcessRequest extends Reach {
  /** The program and its arguments. No shell reads them. */
  argv: readonly [string, ...string[]]
  /** Folder it runs in; the workspace by default. Absolute, and known to lie within reach. */
  cwd?: string
  /** Variables beside those that every program gets, and in their place. */
  env?: Readonly<Record<string, string>>
  /** Whether the program also gets our own variables, without those that hold secrets. */
  pass_env?: boolean
  /** Its standard input; empty by default. */
  input?: string
  time_limit_ms: number
  /** Further limits of each of its processes; by default those of the configuration. */
  limits?: Partial<ProcessLimits>
  signal?: AbortSignal
  /** Whether it may use the network; by default `tools.sandbox_network`. */
  network?: boolean
  /** Files and folders outside the workspace that it needs, where there is a wall: to read, and to write. */
  read?: readonly string[]
  write?: readonly string[]
  /** Called when it starts to run. */
  started?: (pid: number) => void
  /** Called with each piece that it writes to either output. */
  wrote?: (text: string) => void
}

export interface ProcessLimits {
  cpu_seconds: number
  /** Private memory of one process. */
  memory_mb: number
  /** Size of one file. */
  file_mb: number
}

/** What a program wrote: its beginning and its end, when it was too much to keep. */
export interface ProcessOutput {
  head: Buffer
  tail: Buffer
  /** All that was written, in bytes. */
  bytes: number
}

export interface ProcessEnd {
  /** null when a signal ended it. */
  code: number | null
  signal: NodeJS.Signals | null
  /** Whether it exceeded its time limit and was ended with all processes that it started. */
  timed_out: boolean
  stdout: ProcessOutput
  stderr: ProcessOutput
  duration_ms: number
}

export const SandboxStatus = z
  .object({
    mode: z.enum(['auto', 'required', 'off']).describe('`tools.sandbox`'),
    wall: z.enum(['bubblewrap', 'none']).describe('What stands between the programs that agents run and the machine'),
    network: z.boolean().describe('Whether programs of agents reach the network'),
    reason: z.string().meta({ examples: ['bubblewrap 0.8.0 works here'] }),
  })
  .meta({ id: 'SandboxStatus' })
export type SandboxStatus = z.infer<typeof SandboxStatus>

/** Says it to people. */
export function sandboxSentence({ wall, network, reason }: SandboxStatus): string {
  return wall === 'none'
    ? `Programs of agents run with your own rights, without a sandbox: ${reason}.`
    : `Programs of agents run in a sandbox: ${reason}; ${network ? 'they reach the network' : 'no network'}.`
}

/** Runs the programs that agents ask for, and is the one place where that happens. */
export interface Sandbox {
  /**
   * Runs a program to its end, in a process group of its own that is ended as a whole: when the program ends, at its time
   * limit, and when the signal is aborted.
   * @throws NoSandboxError when a wall is required and there is none, ProgramError when it could not be started, and what
   *   the signal was aborted with, when nothing of the program is left
   */
  run(request: ProcessRequest): Promise<ProcessEnd>
  /**
   * What a model reads of it. What is too long for that is kept in a file of the agent, which is named.
   * @param tokens of the answer, about; at most 2,000 by default
   */
  describeEnd(end: ProcessEnd, reach: Reach, tokens?: number): Promise<string>
  /** @deprecated Use `describeEnd`. */
  tell?: Sandbox['describeEnd']
  /** Keeps a text that is too long for a model in the agent's own folder. @returns the file's path, as its file tools take it */
  keep(reach: Reach, text: string): Promise<string>
  status(): Promise<SandboxStatus>
  /** The file that a program's name means on our PATH, if there is one. */
  find(program: string): Promise<string | undefined>
}
export const Sandbox = token<Sandbox>('sandbox')

/** An open folder within reach of an agent, even if something is renamed or linked meanwhile. */
export interface JailFolder {
  readonly path: string
  /** The path of an entry, good while the folder is open. */
  at(name: string): string
  /** The folder of this name in this one; a link is not followed. */
  below(name: string, asked: string): Promise<JailFolder>
  close(): Promise<void>
}

/** A path within reach of an agent. */
export interface ReachedPath {
  /** Its real path, which may change after this answer. */
  real: string
  exists: boolean
  /** The real path of the folder that reaches it. */
  folder: string
  access: GivenFolder['access']
}

/**
 * Decides whether a file may be replaced.
 * @param current the file that is there, open for reading; undefined when there is none
 * @param real its real path
 */
export type ReplaceCheck = (current: FileHandle | undefined, real: string) => Promise<void>

/**
 * The files that an agent may use, by any spelling that leads there, and nothing else. Paths are relative to the workspace, or
 * absolute. In folders that the operator gave, `.svc`, `plugins`, `profiles` and `logs` of a project are closed.
 */
export interface Jail {
  /** Opens a regular file for reading. The caller closes it. @throws OutsideError, PathError */
  open(reach: Reach, path: string): Promise<FileHandle>
  /** Opens a folder. The caller closes it. @throws OutsideError, PathError */
  folder(reach: Reach, path: string): Promise<JailFolder>
  /**
   * Replaces a file as a whole, or makes it together with its folders.
   * @param check called just before, while no other call of this process replaces the file; what it throws leaves the file as it is
   * @throws OutsideError, PathError, ReadOnlyError
   */
  replace(reach: Reach, path: string, bytes: Uint8Array, check?: ReplaceCheck): Promise<void>
  /** Returns where a path leads, whether something is there or not. @throws OutsideError, PathError */
  resolve(reach: Reach, path: string): Promise<ReachedPath>
  /**
   * Checks a folder that the operator gives to an agent, and returns it by its real path.
   * @param usual its access where it says nothing
   * @param base the folder that a relative path begins in; without one it is refused
   * @throws FolderError
   */
  admit(given: FolderInput, usual: GivenFolder['access'], base?: string): Promise<GivenFolder>
  /** Returns the real paths of the closed folders that lie in a folder within reach. */
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
  message: (p: { path: string; folder: string }) =>
    `${JSON.stringify(p.path)} was not changed: the operator gave you ${p.folder} to read only. Write in another folder of yours.`,
})
export const PathError = defineError({
  code: 'bad_path',
  name: 'PathError',
  status: 422,
  title: 'Bad path',
  message: (p: { path: string; problem: string }) => `${JSON.stringify(p.path)} ${p.problem}.`,
})
export const FolderError = defineError({
  code: 'bad_folder',
  name: 'FolderError',
  status: 422,
  title: 'Bad folder',
  message: (p: { path: string; problem: string }) => `The folder ${JSON.stringify(p.path)} ${p.problem}.`,
})
export const NoSandboxError = defineError({
  code: 'no_sandbox',
  status: 503,
  title: 'No sandbox',
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
