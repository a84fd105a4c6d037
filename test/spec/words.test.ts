import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')

/** Words that plain ones replace, with the number of lines of code and documentation that may still hold them. Only lower these. */
const BOUNDS: Readonly<Record<string, number>> = {
  'unless told': 17,
  'so many': 30,
  'so often': 1,
  'of its own accord': 1,
  nobody: 71,
  somebody: 33,
  whoever: 20,
  told: 386,
  heard: 80,
  lived: 33,
  room: 98,
  rooms: 34,
  house: 35,
  attic: 31,
  witness: 1,
  desk: 2,
  keeper: 4,
  tape: 85,
}
const LINES = ['kernel', 'builtins', 'dashboard', 'embed', 'docs', 'plugins', 'examples'].flatMap(folder =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter(name => /\.(ts|tsx|md)$/.test(name) && !name.includes('node_modules'))
    .flatMap(name => readFileSync(join(ROOT, folder, name), 'utf8').split('\n')),
)

it.each(Object.entries(BOUNDS))('"%s" stands on at most %i lines', (word, bound) => {
  const whole = new RegExp(`\\b${word}\\b`, 'i')
  const found = LINES.filter(line => whole.test(line)).length
  expect(found, 'write it in plain words, or lower the bound in this file').toBeLessThanOrEqual(bound)
})
