import { isImage, withImages } from '#core/images/contract'
import { type PluginHandle, z } from '#kernel'
import { keyedMutex } from '#lib/keyed-mutex'
import { Jail, PathError, type Reach } from '#safety/sandbox/contract'
import { type Toolkit, tool } from '#tools/toolkits/contract'
import type { FileConfig } from './config.ts'
import { replaceOnce } from './edit.ts'
import { listTree } from './tree.ts'
import { windowOf } from './window.ts'

const path = z
  .string()
  .min(1)
  .describe('Relative to your workspace, as in "notes/today.md"; or absolute, in a folder that you were given')

/** The tools that work on the files of an agent's workspace, and nowhere else. */
export function fileToolkit(svc: PluginHandle, limits: FileConfig): Toolkit {
  // A model may ask for several edits of a file at once.
  const inTurn = keyedMutex()
  const { files } = svc.ports

  const read = async (reach: Reach, at: string) => {
    const handle = await svc.use(Jail).open(reach, at)
    try {
      const { size } = await handle.stat()
      if (size > limits.file_max_read_bytes) throw tooLarge(at, size, limits.file_max_read_bytes)
      return await handle.readFile()
    } finally {
      await handle.close()
    }
  }
  const write = async (reach: Reach, at: string, text: string) => {
    const bytes = Buffer.from(text)
    if (bytes.length > limits.file_max_write_bytes) throw tooLarge(at, bytes.length, limits.file_max_write_bytes)
    await svc.use(Jail).replace(reach, at, bytes)
    return bytes.length
  }

  return {
    name: 'file',
    everyday: true,
    instructions:
      'The file tools take paths relative to your workspace, or absolute ones of other folders that you were given. Nothing else can be reached.',
    tools: [
      tool({
        name: 'file_read',
        description:
          'Read a text file or look at an image of your workspace. Rows come numbered; number and tab are not part of the file. Of long files the last line says how to read on.',
        parameters: z.object({
          path,
          offset: z.coerce.number().int().min(0).default(0).describe('Rows to skip'),
          limit: z.coerce.number().int().min(1).max(5000).default(500).describe('Rows to show'),
        }),
        idempotent: true,
        async execute({ path, offset, limit }, call) {
          const bytes = await read(call, path)
          if (isImage(bytes)) return withImages(`${path} is an image.`, { data: bytes, name: path.slice(-200) })
          return windowOf(textOf(bytes, path), offset, limit)
        },
      }),
      tool({
        name: 'file_write',
        description:
          'Write a text file in your workspace. Replaces the whole file if there is one, and makes missing folders. To change a part of a file, use file_edit.',
        parameters: z.object({ path, content: z.string().describe('The whole text of the file') }),
        idempotent: true,
        danger: 'overwrites',
        execute: ({ path, content }, call) =>
          inTurn(call.workspace, async () => {
            call.signal.throwIfAborted()
            return `Wrote ${await write(call, path, content)} bytes to ${path}.`
          }),
      }),
      tool({
        name: 'file_edit',
        description:
          'Replace one piece of text in a file of your workspace. old_text must occur exactly once, with its spaces and line breaks as they are in the file.',
        parameters: z.object({
          path,
          old_text: z.string().min(1).describe('The text to replace, copied from the file'),
          new_text: z.string().describe('What comes in its place; empty removes it'),
        }),
        danger: 'overwrites',
        execute: ({ path, old_text, new_text }, call) =>
          inTurn(call.workspace, async () => {
            call.signal.throwIfAborted()
            const text = replaceOnce(path, textOf(await read(call, path), path), old_text, new_text)
            return `Changed ${path}, which now has ${await write(call, path, text)} bytes.`
          }),
      }),
      tool({
        name: 'list_dir',
        description: 'List the files and folders of your workspace, with the sizes of files.',
        parameters: z.object({
          path: path.default('.'),
          max_depth: z.coerce.number().int().min(1).max(10).default(2).describe('Levels of folders to show'),
          offset: z.coerce.number().int().min(0).default(0).describe('Entries to skip'),
          limit: z.coerce.number().int().min(1).max(1000).default(200).describe('Entries to show'),
        }),
        idempotent: true,
        async execute({ path, max_depth, offset, limit }, call) {
          const folder = await svc.use(Jail).folder(call, path)
          return listTree(files, folder, path, { depth: max_depth, offset, limit, signal: call.signal })
        },
      }),
    ],
  }
}

function textOf(bytes: Buffer, path: string): string {
  const text = bytes.toString('utf8')
  if (bytes.includes(0) || !bytes.equals(Buffer.from(text))) {
    throw new PathError({
      path,
      problem: 'holds neither UTF-8 text nor a PNG, JPEG or WebP; the file tools handle nothing else',
    })
  }
  return text
}

function tooLarge(path: string, bytes: number, most: number) {
  return new PathError({ path, problem: `has ${bytes} bytes, and the file tools take at most ${most}` })
}
