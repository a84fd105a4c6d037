import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { bareEnvironment, type CliOptions, type Ran } from '../cli.ts'

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url))
let kept: ChildProcess | undefined
let last: Promise<unknown> = Promise.resolve()

/**
 * Same as `svc` of cli.ts, for commands that end by themselves: the built program runs in a warm process, which takes
 * an eighth of the processor time, one command after the other. Tests of processes (signals, standard input, two at a
 * time, start-up time) need `svc` of cli.ts.
 */
export function svc(words: readonly string[], { cwd, env = {} }: Omit<CliOptions, 'program'>): Promise<Ran> {
  const ran = last.then(async () => {
    kept ??= begin()
    const warm = kept
    const bare = { ...bareEnvironment(env), ...env }
    const answer = once(warm, 'message')
    const died = once(warm, 'exit').then(() => Promise.reject(new Error(`svc ${words.join(' ')}: its process ended`)))
    warm.send({ words, cwd, env: bare })
    const [message] = await Promise.race([answer, died])
    died.catch(() => {})
    return message as Ran
  })
  last = ran.catch(() => {
    kept = undefined
  })
  return ran
}

function begin(): ChildProcess {
  const child = fork(file('./warm-process.js'), [file('../../../dist/svc.js')], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    execArgv: [],
  })
  child.setMaxListeners(0)
  return child
}
