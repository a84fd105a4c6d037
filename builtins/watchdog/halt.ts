import { Session } from 'node:inspector'
import { fileURLToPath } from 'node:url'
import type { Ports } from '#kernel'

/** How long the main thread may take to halt, in milliseconds: inside native code it does not. */
const HALT_MS = 2_000

/** A place in a file; lines count from 1. */
export interface Frame {
  file: string
  line: number
}

/** The main thread, halted. */
export interface Halted {
  /** Where it stands, innermost first; empty when it could not be asked. */
  frames: Frame[]
  /** Lets it go on. */
  resume(): void
}

/** Halts the main thread from another one, wherever it is, and reads where that is. Never rejects. */
export async function haltMainThread(clock: Ports['clock']): Promise<Halted> {
  const session = new Session()
  const scripts = new Map<string, string>()
  try {
    session.connectToMainThread()
    session.on('Debugger.scriptParsed', ({ params }) => scripts.set(params.scriptId, params.url))
    const halted = new Promise<Frame[]>(resolve => {
      session.on('Debugger.paused', ({ params }) =>
        resolve(
          params.callFrames.map(({ location: { scriptId, lineNumber } }) => ({
            file: pathOf(scripts.get(scriptId) ?? ''),
            line: lineNumber + 1,
          })),
        ),
      )
    })
    session.post('Debugger.enable')
    session.post('Debugger.pause')
    const frames = await Promise.race([halted, clock.sleep(HALT_MS).then(() => [])])
    return { frames, resume: () => session.disconnect() }
  } catch {
    return { frames: [], resume: () => session.disconnect() }
  }
}

function pathOf(url: string): string {
  return url.startsWith('file:') ? fileURLToPath(url) : url
}
