import type { Ports } from '#kernel'

/** Environment variable that is set for the process that `--detach` starts. */
export const DETACHED = 'SVC_DETACHED'

/** Message of a detached process to the one that started it, which waits until it is ready or has failed. */
export type Message = { ready: string } | { failed: string; exit: number }

export function isDetached(env: Ports['env']): boolean {
  return env[DETACHED] === '1' && process.send !== undefined
}

/**
 * Sends a message to the process that waits for this one.
 * @returns false when no process waits
 */
export async function sendToParent(env: Ports['env'], message: Message): Promise<boolean> {
  if (!isDetached(env) || !process.connected) return false
  // Awaited, because the message would be lost if this process exited first.
  await new Promise(onSent => process.send!(message, onSent))
  return true
}
