import { type Clock, defineError, type Kernel, type Ports, type Role, token } from '#kernel'

export { htmlPage, htmlText } from './html.ts'

export interface TrialOptions {
  /** Of all randomness and ids in it. */
  seed: number
  /** In place of the defaults; the section `model` is the project's own. */
  config: Readonly<Record<string, unknown>>
  /** Files to begin with, by path below its folder. */
  files?: Readonly<Record<string, string>>
  /** Where it is made and stays; else a temporary folder that goes when it is closed. */
  keep?: string | undefined
  clock?: Clock
  roles?: readonly Role[]
}

/** A project apart from this one, in which something is tried out. */
export interface Trial extends AsyncDisposable {
  readonly kernel: Kernel
  /** Its folder. */
  readonly root: string
  readonly ports: Ports
  /** Stops it, and removes its folder unless that was to be kept. */
  close(): Promise<void>
}

/**
 * Opens trial projects apart from the project: with a database, agents and workspaces of their own, but with the project's models. What
 * their models cost is held and booked in the project's budget before it is in their own.
 */
export interface Trials {
  /** @throws TrialFolderError when the folder to keep holds something already */
  open(options: TrialOptions): Promise<Trial>
}
export const Trials = token<Trials>('trials')

export const TrialFolderError = defineError({
  code: 'trial_folder',
  status: 409,
  title: 'Trial folder',
  message: (p: { folder: string }) =>
    `${p.folder} holds something already; name a folder that is empty, or that there is not yet.`,
})
