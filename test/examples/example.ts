import { readFileSync } from 'node:fs'
import { basename, resolve } from 'node:path'

export const EXAMPLES = resolve(import.meta.dirname, '../../examples')

/** Returns examples as plugin files, as authors write them: `{ 'hook.ts': '…' }`. */
export function example(...paths: string[]): Record<string, string> {
  return Object.fromEntries(paths.map(path => [basename(path), readFileSync(resolve(EXAMPLES, path), 'utf8')]))
}
