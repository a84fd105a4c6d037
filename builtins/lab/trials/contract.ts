import { type Clock, defineError, type Kernel, type Ports, type Role, token } from '#kernel'

export { htmlPage, htmlText } from './html.ts'

export interface TrialOptions {
  /** Seed of randomness and ids. */
  seed: number
  /** Configuration keys that differ from the defaults. The section `model` is always that of the project. */
  config: Readonly<Record<string, unknown>>
  /** Initial files, by path relative to its folder. */
  files?: Readonly<Record<string, string>>
  /** Folder to create and keep; without it a temporary folder is removed on closing. */
  keep?: string | undefined
  clock?: Clock
  roles?: readonly Role[]
}

/** A separate project for experiments. */
export interface Trial extends AsyncDisposable {
  readonly kernel: Kernel
  /** Folder of the trial. */
  readonly root: string
  readonly ports: Ports
  /** Stops the trial, and removes its folder unless `keep` was set. */
  close(): Promise<void>
}

/**
 * Opens separate trial projects, with a database, agents and workspaces of their own and the models of this project.
 * The cost of their model calls is reserved and booked in this project's budget first, then in theirs.
 */
export interface Trials {
  /**
   * Opens a trial project.
   * @throws TrialFolderError when the folder to keep is not empty
   */
  open(options: TrialOptions): Promise<Trial>
}
export const Trials = token<Trials>('trials')

export const TrialFolderError = defineError({
  code: 'trial_folder',
  status: 409,
  title: 'Folder not empty',
  message: (p: { folder: string }) =>
    `${p.folder} is not empty; choose an empty folder, or one that does not exist yet.`,
})
