import { type Outcome, token } from '#kernel'
import type { TestHost } from '../support/index.ts'

/** Returns the source of a plugin file with this code in its `setup`, and more in its definition. */
export function source(name: string, setup = '', more = ''): string {
  return `import { definePlugin, defineError, point, tool, z } from 'svc'
export default definePlugin({ name: '${name}', ${more} setup(svc) {
${setup}
} })
`
}

/** Returns the source of a plugin that says which version of it is live. */
export function saying(word: string, name = 'sayer'): string {
  return source(name, `svc.provide({ name: 'word' }, '${word}')`)
}

const Word = token<string>('word')

/** Returns the word of the live version of `saying`; undefined when none is live. */
export function word({ kernel }: TestHost): string | undefined {
  return kernel.services.has(Word) ? kernel.use(Word) : undefined
}

/** Writes plugin files, named relative to `plugins/`, and applies them now. */
export async function drop(home: TestHost, files: Readonly<Record<string, string>>): Promise<Outcome[]> {
  await home.write(Object.fromEntries(Object.entries(files).map(([name, text]) => [`plugins/${name}`, text])))
  return home.kernel.host.apply()
}

export function stateOf({ kernel }: TestHost, name: string) {
  return kernel.host.list().find(plugin => plugin.name === name)
}

/** Formats outcomes as `plugin: outcome`. */
export function outcomeLines(outcomes: readonly Outcome[]): string[] {
  return outcomes.map(({ plugin, outcome }) => `${plugin}: ${outcome}`)
}
