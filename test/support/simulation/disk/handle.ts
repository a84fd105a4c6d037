import { systemPorts } from '#lib/system-ports'
import { bitsOf, encodingOf, type FileAccess } from './access.ts'
import { resize, statsOf } from './entry.ts'
import type { Tree } from './tree.ts'

const { constants } = systemPorts().files

/** Returns a file handle, as `open` of `node:fs/promises` does. */
export function openFile(tree: Tree, reach: FileAccess, path: string, flags: string | number, mode: number) {
  const bits = bitsOf(flags)
  const entry = reach.open(path, bits, mode)
  const fd = tree.open(path)
  const appends = (bits & constants.O_APPEND) !== 0
  let place = 0
  const store = (data: string | Uint8Array) => {
    if (appends) place = entry.bytes.length
    place += reach.write(path, entry, place, Buffer.from(data as Uint8Array))
  }
  const take = (buffer: Uint8Array, offset: number, length: number, position: number | null | undefined) => {
    reach.check({ op: 'read', path })
    const from = position ?? place
    const bytesRead = entry.bytes.copy(buffer, offset, from, Math.min(from + length, entry.bytes.length))
    if (position === null || position === undefined) place += bytesRead
    return { bytesRead, buffer }
  }
  const calls: Record<string, (...args: never[]) => unknown> = {
    appendFile: store,
    writeFile: store,
    write: (data: string | Uint8Array) => {
      store(data)
      return { bytesWritten: data.length, buffer: data }
    },
    read: (
      given: Uint8Array | { buffer: Uint8Array; offset?: number; length?: number; position?: number | null },
      offset?: number,
      length?: number,
      position?: number | null,
    ) => {
      if (given instanceof Uint8Array) {
        const start = offset ?? 0
        return take(given, start, length ?? given.length - start, position)
      }
      const start = given.offset ?? 0
      return take(given.buffer, start, given.length ?? given.buffer.length - start, given.position)
    },
    readFile: (options?: unknown) => {
      reach.check({ op: 'read', path })
      const rest = entry.bytes.subarray(place)
      const encoding = encodingOf(options)
      return encoding ? rest.toString(encoding) : Buffer.from(rest)
    },
    stat: (options?: { bigint?: boolean }) => statsOf(entry, options),
    chmod: (bits: number) => {
      entry.mode = bits
    },
    sync: () => void reach.check({ op: 'sync', path }),
    datasync: () => void reach.check({ op: 'sync', path }),
    truncate: (length = 0) => resize(entry, length),
    close: () => tree.close(fd),
  }
  const handle: Record<string | symbol, unknown> = {
    fd,
    async *createReadStream({ start = 0 } = {}) {
      yield entry.bytes.subarray(start)
    },
  }
  for (const [name, call] of Object.entries(calls)) {
    handle[name] = async (...args: never[]) => call(...args)
  }
  handle[Symbol.asyncDispose] = handle.close
  return handle
}
