import type { FileHandle } from 'node:fs/promises'
import { defineError, token, z } from '#kernel'

/** A program to run for an agent. */
export interface ProcessRequest {
  /** The program and its arguments. No shell reads them. */
  argv: readonly [string, ...string[]]
  /** The agent's own folder, absolute: all that the program may write. */
  workspace: string
  /** Where it runs; the workspace unless told. Absolute, and known to lie in the workspace. */
  cwd?: string
  /** Variables beside those that every program gets, and in their place. */
  env?: Readonly<Record<string, string>>
  /** Also all of our own variables but for those that hold secrets. */
  pass_env?: boolean
  /** Its standard input; nothing unless told. */
  input?: string
  time_limit_ms: number
  /** Further limits of each of its processes; those of the configuration unless told. */
  limits?: Partial<ProcessLimits>
  signal?: AbortSignal
  /** Whether it may use the network; `tools.sandbox_network` unless told. */
  network?: boolean
  /** Files and folders outside the workspace that it needs, where there is a wall: to read, and to write. */
  read?: readonly string[]
  write?: readonly string[]
  /** Told when it runs. */
  started?: (pid: number) => void
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
  /** It ran longer than it may, and was ended with all that it had started. */
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
   * What a model reads of it. What is too long for that is kept in a file of the workspace, which is named.
   * @param chars of the answer, about
   */
  tell(end: ProcessEnd, workspace: string, chars?: number): Promise<string>
  /** Puts a text that is too long for a model where its agent can read it. @returns the file's path in the workspace */
  keep(workspace: string, text: string): Promise<string>
  status(): Promise<SandboxStatus>
  /** The file that a program's name means on our PATH, if there is one. */
  find(program: string): Promise<string | undefined>
}
export const Sandbox = token<Sandbox>('sandbox')

/** An open folder that lies inside a jail, whatever is renamed or linked meanwhile. */
export interface JailFolder {
  readonly path: string
  /** The path of an entry, good while the folder is open. */
  at(name: string): string
  /** The folder of this name in this one; a link is not followed. */
  below(name: string, asked: string): Promise<JailFolder>
  close(): Promise<void>
}

/** The files below one folder, by any spelling that leads there, and nothing else. Paths are relative to it, or absolute. */
export interface Jail {
  /** Opens a regular file for reading. The caller closes it. @throws OutsideError, PathError */
  open(root: string, path: string): Promise<FileHandle>
  /** Opens a folder. The caller closes it. @throws OutsideError, PathError */
  folder(root: string, path: string): Promise<JailFolder>
  /** Replaces a file as a whole, or makes it together with its folders. @throws OutsideError, PathError */
  replace(root: string, path: string, bytes: Uint8Array): Promise<void>
  /** The real path of what is there, or is to be made. Whoever uses it later may find something else. @throws OutsideError, PathError */
  resolve(root: string, path: string): Promise<{ real: string; exists: boolean }>
}
export const Jail = token<Jail>('jail')

export const OutsideError = defineError({
  code: 'outside_workspace',
  name: 'OutsideError',
  status: 403,
  title: 'Outside the workspace',
  sentence: (p: { path: string }) =>
    `${JSON.stringify(p.path)} lies outside your workspace; use a path inside it, such as "notes/today.md".`,
})
export const PathError = defineError({
  code: 'bad_path',
  name: 'PathError',
  status: 422,
  title: 'Bad path',
  sentence: (p: { path: string; problem: string }) => `${JSON.stringify(p.path)} ${p.problem}.`,
})
export const NoSandboxError = defineError({
  code: 'no_sandbox',
  status: 503,
  title: 'No sandbox',
  sentence: (p: { reason: string }) =>
    `Nothing was run: tools.sandbox is "required", and ${p.reason}. The operator can install bubblewrap, or set tools.sandbox to auto.`,
})
export const ProgramError = defineError({
  code: 'program_not_started',
  name: 'ProgramError',
  status: 422,
  title: 'Program not started',
  sentence: (p: { program: string; problem: string }) => `${JSON.stringify(p.program)} was not run: ${p.problem}.`,
})
