import type { Ports } from '#kernel'

/** Set for the process that `--detach` starts. */
export const DETACHED = 'SVC_DETACHED'

/** Message of a detached process to the one that started it, which waits until it is ready or has failed. */
export type Message = { ready: string } | { failed: string; exit: number }

export function isDetached(env: Ports['env']): boolean {
  return env[DETACHED] === '1' && process.send !== undefined
}

/** @returns false when no process waits */
export async function sendToParent(env: Ports['env'], message: Message): Promise<boolean> {
  if (!isDetached(env) || !process.connected) return false
  // Sent before it may end: a message on its way is lost then.
  await new Promise(onSent => process.send!(message, onSent))
  return true
}
