import type { Ports } from '#kernel'

/** Content encodings in which built pages are stored, the smallest first, with their file extensions. */
export const PAGE_ENCODINGS = { br: '.br', gzip: '.gz' } as const
export type PageEncoding = keyof typeof PAGE_ENCODINGS

/** Body that is already compressed. */
export interface EncodedBody {
  bytes: Buffer
  encoding: PageEncoding
}

/**
 * Reads a page's file from the first folder that has it: compressed, where that lies beside it and the client accepts it.
 * @returns undefined where no folder has it
 */
export async function readPageFile(
  files: Ports['files'],
  folders: readonly URL[],
  file: string,
  encodings: readonly PageEncoding[],
): Promise<Buffer | EncodedBody | undefined> {
  const read = (name: string, folder: URL) => files.readFile(new URL(name, folder)).catch(() => undefined)
  for (const folder of folders) {
    for (const encoding of encodings) {
      const bytes = await read(`${file}${PAGE_ENCODINGS[encoding]}`, folder)
      if (bytes) return { bytes, encoding }
    }
    const bytes = await read(file, folder)
    if (bytes) return bytes
  }
  return undefined
}
