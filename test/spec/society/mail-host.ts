import type { A2AMessage } from '#society/a2a/contract'
import a2a from '#society/a2a/index'
import a2aTools from '#tools/toolkits/a2a/index'
import comms from '#tools/toolkits/comms/index'
import { type Script, type TestHost, type TestHostOptions, text } from '../../support/index.ts'
import { asksForGoal, rows, testHostWithModel } from '../core/models/model-host.ts'

/** Opens a test host with messages, their toolkits and the profiles ann, bob, cleo and dora. */
export const testHostWithMail = (script: Script, options: TestHostOptions = {}) =>
  testHostWithModel(script, {
    ...options,
    builtins: [a2a, a2aTools, comms, ...(options.builtins ?? [])],
    files: { ...profileFiles('ann', 'bob', 'cleo', 'dora'), ...options.files },
  })

const profileFiles = (...names: string[]) =>
  Object.fromEntries(
    names.map(name => [`profiles/${name}.yaml`, `name: ${name}\nrole: does what ${name} does\nmax_steps: 6\n`]),
  )

/** Returns whether a prompt belongs to the named agent, by its first line. */
export const isOf = ({ prompt }: { prompt: string }, name: string) => prompt.startsWith(`You are ${name}.`)

export const goalOf = (goal: string | null) => text(JSON.stringify({ goal }))
export const NOTHING = goalOf(null)
export { asksForGoal, rows }

export const messages = ({ kernel }: TestHost, id: string, more: object = {}) =>
  kernel.invoke('messages.list', { id, ...more }) as Promise<A2AMessage[]>
export const send = ({ kernel }: TestHost, id: string, body: string, more: object = {}) =>
  kernel.invoke('messages.send', { id, body, ...more }) as Promise<{ message_id: string; answer: A2AMessage | null }>
