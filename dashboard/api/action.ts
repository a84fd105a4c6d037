import { useEffect, useState } from 'preact/hooks'
import { toast } from '../ui/toasts.tsx'
import { type Fault, faultOf } from './client.ts'
import { feed } from './feed.ts'

export interface Action<A extends unknown[]> {
  /** Runs the action and reports its outcome. @returns whether it succeeded */
  run(...given: A): Promise<boolean>
  running: boolean
  fault: Fault | undefined
}

/** Gives the focus back to a button once it is enabled again: some browsers drop it from disabled buttons. */
function refocus(button: Element | null): void {
  requestAnimationFrame(() => {
    if (document.activeElement === document.body && button instanceof HTMLElement) button.focus()
  })
}

/** State for the error of an action. That the server could not be reached is dropped once it is reached again. */
export function useFault() {
  const [fault, setFault] = useState<Fault | undefined>(undefined)
  useEffect(
    () =>
      feed.onState(() => {
        if (feed.state === 'live') setFault(had => (had?.code === 'unreachable' ? undefined : had))
      }),
    [],
  )
  return [fault, setFault] as const
}

/**
 * Wraps an action of the reader: its button is disabled while it runs, and an error is shown beside it.
 * @param done text of the toast after a success
 */
export function useAction<A extends unknown[]>(act: (...given: A) => Promise<unknown>, done?: string): Action<A> {
  const [running, setRunning] = useState(false)
  const [fault, setFault] = useFault()
  return {
    running,
    fault,
    async run(...given) {
      const button = document.activeElement
      setRunning(true)
      try {
        await act(...given)
        setFault(undefined)
        if (done) toast(done)
        return true
      } catch (error) {
        setFault(faultOf(error))
        return false
      } finally {
        setRunning(false)
        refocus(button)
      }
    },
  }
}
