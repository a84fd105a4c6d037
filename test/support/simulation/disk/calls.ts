import { dirname, join } from 'node:path'
import { systemPorts } from '#lib/system-ports'
import type { FileAccess } from './access.ts'
import { direntOf, resize, statsOf } from './entry.ts'
import { failure } from './failure.ts'
import { openFile } from './handle.ts'
import type { Tree } from './tree.ts'

const { constants } = systemPorts().files

/**
 * Returns the calls of `node:fs/promises` that the program uses. Each is carried out at once, and returns or throws
 * without a promise.
 */
export function callsOf(tree: Tree, reach: FileAccess) {
  const at = (path: string | URL) => tree.real(String(path))
  return {
    access: (path: string) => void tree.get(at(path), 'access'),
    appendFile: (path: string, data: string | Uint8Array, options: { mode?: number; flag?: string } = {}) =>
      reach.put(at(path), data, options.flag ?? 'a', options.mode),
    writeFile: (path: string, data: string | Uint8Array, options: { mode?: number; flag?: string } = {}) =>
      reach.put(at(path), data, options.flag ?? 'w', options.mode),
    readFile: (path: string, options?: unknown) => reach.read(at(path), options),
    chmod: (path: string, mode: number) => {
      tree.get(at(path), 'chmod').mode = mode
    },
    copyFile: (from: string, to: string, flags = 0) => {
      const path = at(to)
      if (flags & constants.COPYFILE_EXCL && tree.find(path)) throw failure('EEXIST', 'copyfile', path)
      reach.put(path, reach.read(at(from)) as Buffer, 'w')
    },
    link: (from: string, to: string) => {
      const entry = tree.get(at(from), 'link')
      if (tree.find(at(to))) throw failure('EEXIST', 'link', at(to))
      tree.folder(dirname(at(to)), 'link')
      entry.nlink++
      tree.place(at(to), entry)
    },
    symlink: (target: string, path: string) => {
      const real = at(path)
      reach.check({ op: 'symlink', path: real })
      if (tree.find(real)) throw failure('EEXIST', 'symlink', real)
      tree.folder(dirname(real), 'symlink')
      tree.add(real, 'link', 0o777).bytes = Buffer.from(target)
    },
    stat: (path: string, options?: { bigint?: boolean }) => statsOf(tree.get(at(path), 'stat'), options),
    lstat: (path: string, options?: { bigint?: boolean }) => statsOf(tree.get(at(path), 'lstat'), options),
    statfs: () => ({ type: 0, bsize: 4096, blocks: 1e9, bfree: 1e9, bavail: 1e9, files: 1e9, ffree: 1e9 }),
    mkdir: (path: string, options: number | { recursive?: boolean; mode?: number } = {}) => {
      const { recursive = false, mode = 0o777 } = typeof options === 'number' ? { mode: options } : options
      const real = at(path)
      reach.check({ op: 'mkdir', path: real })
      if (recursive) return tree.makeFolders(real, mode)
      if (tree.find(real)) throw failure('EEXIST', 'mkdir', real)
      tree.folder(dirname(real), 'mkdir')
      tree.add(real, 'folder', mode)
      return undefined
    },
    mkdtemp: (prefix: string) => {
      const path = tree.temporary(at(prefix))
      tree.makeFolders(path, 0o700)
      return path
    },
    readdir: (path: string, options?: { withFileTypes?: boolean }) => {
      const names = tree.list(at(path), 'scandir')
      if (!options?.withFileTypes) return names
      return names.map(name => direntOf(at(path), name, tree.find(join(at(path), name))!))
    },
    opendir: (path: string) => {
      const entries = tree
        .list(at(path), 'opendir')
        .map(name => direntOf(at(path), name, tree.find(join(at(path), name))!))
      return Object.assign(entries.values(), { close: async () => {}, read: async () => entries.shift() ?? null })
    },
    readlink: (path: string) => {
      const fd = /^\/proc\/self\/fd\/(\d+)$/.exec(path)?.[1]
      const target = fd === undefined ? undefined : tree.pathOf(Number(fd))
      if (target !== undefined) return target
      const { kind, bytes } = tree.get(at(path), 'readlink')
      if (kind !== 'link') throw failure('EINVAL', 'readlink', path)
      return bytes.toString('utf8')
    },
    realpath: (path: string) => {
      tree.get(at(path), 'realpath')
      return at(path)
    },
    rename: (from: string, to: string) => {
      reach.check({ op: 'rename', path: at(to) })
      tree.move(at(from), at(to))
    },
    rm: (path: string, options: { recursive?: boolean; force?: boolean } = {}) => {
      const real = at(path)
      const entry = tree.find(real)
      if (!entry && options.force) return
      if (tree.get(real, 'rm').kind === 'folder' && !options.recursive) throw failure('ERR_FS_EISDIR', 'rm', real)
      for (const below of tree.listPaths(real)) tree.remove(below)
      tree.remove(real)
    },
    unlink: (path: string) => {
      tree.get(at(path), 'unlink')
      tree.remove(at(path))
    },
    truncate: (path: string, length = 0) => resize(tree.get(at(path), 'open'), length),
    open: (path: string, flags: string | number = 'r', mode = 0o666) => openFile(tree, reach, at(path), flags, mode),
  }
}
