import { useEffect, useState } from 'preact/hooks'
import { api } from '../../api/client.ts'

/** The answer of a running task, as far as it is written. */
export interface Followed {
  task_id: string
  text: string
  /** Text that is shown while there is no answer yet. */
  info: string
}

const AGAIN_MS = 1_000

/**
 * Follows a task's stream from its beginning, across reconnects, while the page is open.
 * @param onEnd called when the task has ended or waits
 */
export function useFollowed(task_id: string | undefined, onEnd: () => Promise<void>): Followed | undefined {
  const [followed, setFollowed] = useState<Followed | undefined>(undefined)
  useEffect(() => {
    if (task_id === undefined) return
    const stop = new AbortController()
    const follow = async () => {
      while (!stop.signal.aborted) {
        const now = { task_id, text: '', info: '' }
        try {
          for await (const { event, data } of api.tasks.follow({ task_id }, { signal: stop.signal })) {
            if (event === 'token') now.text += data.text
            else if (event === 'reset') now.text = ''
            else if (event === 'info') now.info = data.message
            setFollowed({ ...now })
          }
        } catch {
          // The task failed or cannot be reached: the list of tasks shows which.
        }
        if (stop.signal.aborted) return
        await onEnd()
        // If the task still runs, the connection broke; otherwise another task, or none, is followed by now.
        await new Promise(resolve => setTimeout(resolve, AGAIN_MS))
      }
    }
    void follow()
    return () => stop.abort()
  }, [task_id])
  return followed?.task_id === task_id ? followed : undefined
}
