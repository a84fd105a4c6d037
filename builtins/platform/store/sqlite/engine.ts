import { NativeModuleError } from '../contract.ts'
import { withoutCollection } from './uncollected.ts'

type Engine = typeof import('better-sqlite3')

/** SQLite. @throws NativeModuleError */
export function engine(): Promise<Engine> {
  return import('better-sqlite3').then(
    module => withoutCollection(module.default),
    error => Promise.reject(notLoaded(error)),
  )
}

/** What its binary has to do with an error, in a sentence: it is looked for when the first connection is made. */
export function notLoaded(error: unknown): unknown {
  const { code = '', message } = error as NodeJS.ErrnoException
  if (!/MODULE_NOT_FOUND|DLOPEN/.test(code) && !message.startsWith('Could not locate the bindings')) return error
  return new NativeModuleError({ problem: message.split('\n')[0]! }, { cause: error })
}
