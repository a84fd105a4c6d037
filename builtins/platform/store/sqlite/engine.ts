import { NativeModuleError } from '../contract.ts'
import { withoutCollection } from './uncollected.ts'

type Engine = typeof import('better-sqlite3')

/** Loads the SQLite engine. @throws NativeModuleError */
export function engine(): Promise<Engine> {
  return import('better-sqlite3').then(
    module => withoutCollection(module.default),
    error => Promise.reject(notLoaded(error)),
  )
}

/**
 * Converts an error about SQLite's native binary into `NativeModuleError`; returns others unchanged. The binary is only
 * loaded with the first connection.
 */
export function notLoaded(error: unknown): unknown {
  const { code = '', message } = error as NodeJS.ErrnoException
  if (!/MODULE_NOT_FOUND|DLOPEN/.test(code) && !message.startsWith('Could not locate the bindings')) return error
  return new NativeModuleError({ problem: message.split('\n')[0]! }, { cause: error })
}
