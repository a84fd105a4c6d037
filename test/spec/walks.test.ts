import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')

interface Row {
  walk: string
  files: number
  entries: number
  changes: number
  /** Files in the order in which they are entered, each as often as the walk reaches it. */
  path: string[]
}

describe('walks through the sources', async () => {
  const words = [
    '--conditions=svc-source',
    '--import',
    './test/bench/walks/instrument.js',
    'test/bench/walks/walks.ts',
    '--json',
  ]
  const { stdout } = await promisify(execFile)(process.execPath, words, { cwd: ROOT, maxBuffer: 1e8 })
  const rows = JSON.parse(stdout.trim().split('\n').at(-1)!) as Row[]
  const walk = (name: string) => rows.find(row => row.walk === name)!
  const readme = await readFile(join(ROOT, 'kernel/README.md'), 'utf8')

  it.each([
    ['A nudge', ['nudge']],
    ['An approval', ['pursuit', 'approval', 'resumed']],
    ['A plugin file', ['plugin']],
  ])('"%s" in the README of the kernel names its files in the order of the walk', (title, names) => {
    const section = readme.split(`### ${title}\n`)[1]!.split(/^##/m)[0]!
    const items = section.split('\n').filter(line => /^\d+\. /.test(line))
    const files = items.flatMap(line => [...line.matchAll(/`([\w./-]+\.ts)`/g)].map(([, file]) => file!))
    expect(files.length).toBeGreaterThan(10)
    const path = names.flatMap(name => walk(name).path)
    let at = -1
    for (const file of files) {
      const next = path.indexOf(file, at + 1)
      expect(next, `${file}, after ${path[at]}`).toBeGreaterThan(at)
      at = next
    }
  })

  /** Only lower these. */
  it.each([
    ['nudge', { files: 37, entries: 235, changes: 65 }],
    ['pursuit', { files: 202, entries: 3_307, changes: 934 }],
    ['approval', { files: 37, entries: 247, changes: 69 }],
  ])('the walk %s does not exceed its bounds', (name, bounds) => {
    const { files, entries, changes } = walk(name)
    console.log(`${name}: ${files} files, ${entries} entries, ${changes} changes of module`)
    expect(files).toBeLessThanOrEqual(bounds.files)
    expect(entries).toBeLessThanOrEqual(bounds.entries)
    expect(changes).toBeLessThanOrEqual(bounds.changes)
  })
})
