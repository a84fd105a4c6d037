import { execFile } from 'node:child_process'
import { lstat, readdir, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import { packOnce, ROOT } from '../package.ts'
import { type Row, row } from '../row.ts'

const MB = 10 ** 6
/** Size from which a dependency needs a justification. */
const LARGE = 1 * MB

/** Measures the size of an installation: the package's files, and all its dependencies on this platform. */
export async function size(): Promise<Row[]> {
  const own = await packOnce()
  const bundle = await sizeOf(join(own, 'dist'))
  const { stdout } = await promisify(execFile)('npm', ['ls', '--omit=dev', '--all', '--parseable'], {
    cwd: ROOT,
    maxBuffer: 2 ** 24,
  }).catch((error: { stdout: string }) => error)
  const folders = [...new Set(stdout.split('\n'))].filter(path => path.includes('node_modules'))
  const sizes = new Map<string, number>()
  for (const folder of folders) {
    const name = relative(ROOT, folder).replace(/^.*node_modules\//, '')
    sizes.set(name, (sizes.get(name) ?? 0) + (await sizeOf(folder)))
  }
  const needed = [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0)
  const large = [...sizes].filter(([, bytes]) => bytes > LARGE).sort(([, a], [, b]) => b - a)
  const table = await readFile(join(ROOT, 'docs/dependencies.md'), 'utf8')
  const justified = new Set([...table.matchAll(/^\| ([^|]+) \|/gm)].flatMap(([, names]) => names!.split(/, | \(/)))
  const unjustified = large.filter(([name]) => !justified.has(name))
  const listing = large.map(([name, bytes]) => `${name} ${(bytes / MB).toFixed(1)} MB`).join(', ')
  return [
    row({
      what: 'installed size without dev dependencies',
      figure: (needed + (await sizeOf(own))) / MB,
      unit: 'MB',
      aim: { atMost: 120 },
      note: `${folders.length} packages; the largest: ${listing}`,
    }),
    row({ what: 'of it the bundle’s own share', figure: bundle / MB, unit: 'MB', aim: { atMost: 10 } }),
    row({
      what: 'dependencies over 1 MB that the dependency page does not justify',
      figure: unjustified.length,
      unit: '',
      aim: { atMost: 0 },
      note: unjustified.length > 0 ? unjustified.map(([name]) => name).join(', ') : undefined,
    }),
  ]
}

/** Returns the size in bytes, without the packages below, which are counted separately. */
async function sizeOf(path: string): Promise<number> {
  const stat = await lstat(path)
  if (!stat.isDirectory()) return stat.isSymbolicLink() ? 0 : stat.size
  const names = (await readdir(path)).filter(name => name !== 'node_modules')
  const sizes = await Promise.all(names.map(name => sizeOf(join(path, name))))
  return sizes.reduce((sum, bytes) => sum + bytes, 0)
}
