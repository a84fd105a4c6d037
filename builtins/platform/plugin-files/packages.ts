import { createRequire, isBuiltin } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Ports } from '#kernel'
import { PACKAGE_ROOT } from '#lib/package-root'
import type { Source } from './compiler.ts'

/** Matches imports of packages by name, static or not. */
const IMPORTS =
  /(?:\bfrom|\bimport|\brequire\s*\(|\bimport\s*\()\s*['"]((?:@[^'"/\n]+\/)?[^'"./@#\n][^'"/\n]*)[^'"\n]*['"]/g
/** Maximum number of packages followed for one plugin. */
const MAX_PACKAGES = 1_000

type Files = Pick<Ports['files'], 'readFile' | 'realpath'>

export interface UsedPackages {
  /** Folders of the packages that a plugin imports, and of their dependencies. */
  folders: Set<string>
  /** Those of the folders whose packages the program may use too. */
  shared: Set<string>
}

/** Returns the npm packages that these sources use. */
export async function packagesOf(files: Files, sources: readonly Source[]): Promise<UsedPackages> {
  const imports = sources.flatMap(({ filename, source }) =>
    [...source.matchAll(IMPORTS)].map(([, name]) => ({ from: filename, name: String(name) })),
  )
  const folders = await foldersOf(files, imports)
  const { dependencies, peerDependencies } = JSON.parse(
    await files.readFile(join(PACKAGE_ROOT, 'package.json'), 'utf8'),
  ) as Manifest
  const ours = Object.keys({ ...dependencies, ...peerDependencies })
  const used = [...folders].flatMap(folder => {
    const name = ours.find(each => folder.endsWith(`/node_modules/${each}`))
    return name ? [{ from: dirname(folder), name }] : []
  })
  return { folders, shared: await foldersOf(files, used) }
}

/** Returns the folders of packages and of all their dependencies. */
async function foldersOf(files: Files, wanted: { from: string; name: string }[]): Promise<Set<string>> {
  const waiting = [...wanted]
  const found = new Set<string>()
  for (let next = waiting.shift(); next && found.size < MAX_PACKAGES; next = waiting.shift()) {
    const at = await folderOf(files, next.from, next.name)
    if (!at || found.has(at.folder)) continue
    found.add(at.folder)
    const { dependencies = {}, optionalDependencies = {}, peerDependencies = {} } = at.manifest
    const names = Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })
    waiting.push(...names.map(name => ({ from: join(at.folder, 'package.json'), name })))
  }
  return found
}

type Manifest = Partial<Record<'dependencies' | 'optionalDependencies' | 'peerDependencies', Record<string, string>>>

/**
 * Returns the folder from which Node loads a package; undefined for the program, built-in modules, and packages that
 * are not installed.
 */
async function folderOf(files: Files, from: string, name: string) {
  if (name === 'svc' || isBuiltin(name)) return undefined
  for (const place of createRequire(from).resolve.paths(name) ?? []) {
    const path = join(place, name, 'package.json')
    const text = await files.readFile(path, 'utf8').catch(() => undefined)
    if (text === undefined) continue
    try {
      return { folder: dirname(await files.realpath(path)), manifest: JSON.parse(text) as Manifest }
    } catch {
      return undefined
    }
  }
  return undefined
}

/** Returns the folder of the package that contains a module, by path or URL; undefined for other code. */
export function packageIn(module: string): string | undefined {
  if (!module.includes('/node_modules/')) return undefined
  const path = module.startsWith('file:') ? fileURLToPath(module) : module
  return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0]
}
