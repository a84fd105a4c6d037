import { type Debugger, Session } from 'node:inspector'
import { fileURLToPath } from 'node:url'
import type { Ports } from '#kernel'

/** Maximum time to wait for the main thread to halt, in milliseconds. It cannot halt inside native code. */
const HALT_MS = 2_000

type CallFrame = Debugger.CallFrame

/** A position in a file; lines count from 1. */
export interface Frame {
  file: string
  line: number
}

/** The halted main thread. */
export interface HaltedThread {
  /** Stack of the thread, innermost frame first; empty if it could not be read. */
  frames: Frame[]
  /** Evaluates an expression in the innermost frame. @throws when the thread is not halted */
  evaluate(expression: string): Promise<void>
  /** Resumes the thread. */
  resume(): void
}

/** Halts the main thread from another thread, and reads its stack. Never rejects. */
export async function haltMainThread(clock: Ports['clock']): Promise<HaltedThread> {
  const session = new Session()
  const scripts = new Map<string, string>()
  const resume = () => session.disconnect()
  try {
    session.connectToMainThread()
    session.on('Debugger.scriptParsed', ({ params }) => scripts.set(params.scriptId, params.url))
    const halted = new Promise<CallFrame[]>(resolve => {
      session.on('Debugger.paused', ({ params }) => resolve(params.callFrames))
    })
    session.post('Debugger.enable')
    session.post('Debugger.pause')
    const callFrames = await Promise.race([halted, clock.sleep(HALT_MS).then((): CallFrame[] => [])])
    const frames = callFrames.map(({ location: { scriptId, lineNumber } }) => ({
      file: pathOf(scripts.get(scriptId) ?? ''),
      line: lineNumber + 1,
    }))
    return { frames, evaluate: expression => evaluate(session, callFrames[0], expression), resume }
  } catch {
    return { frames: [], evaluate: expression => evaluate(session, undefined, expression), resume }
  }
}

function evaluate(session: Session, frame: CallFrame | undefined, expression: string): Promise<void> {
  return new Promise((resolve, reject) => {
    if (!frame) return reject(new Error('the main thread is not halted'))
    session.post('Debugger.evaluateOnCallFrame', { callFrameId: frame.callFrameId, expression }, (error, answer) => {
      const problem = error?.message ?? answer?.exceptionDetails?.exception?.description
      problem === undefined ? resolve() : reject(new Error(problem))
    })
  })
}

function pathOf(url: string): string {
  return url.startsWith('file:') ? fileURLToPath(url) : url
}
