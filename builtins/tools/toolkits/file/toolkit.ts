import { isImage, withImages } from '#core/images/contract'
import { type PluginHandle, z } from '#kernel'
import { keyedMutex } from '#lib/keyed-mutex'
import { pluralize } from '#lib/pluralize'
import { Jail } from '#safety/sandbox/contract'
import { type ToolCall, type Toolkit, tool } from '#tools/toolkits/contract'
import type { FileConfig } from './config.ts'
import { applyEdits, type Edit, EditError } from './edit.ts'
import { patchOf } from './patch.ts'
import { baseOf, rulesAbove } from './search/rules-above.ts'
import { searchTools } from './search/search-tools.ts'
import { type Found, TextFiles, textOf } from './text-files.ts'
import { listTree } from './tree.ts'
import { windowOf } from './window.ts'

const path = z
  .string()
  .min(1)
  .describe('Relative to your workspace, as in "notes/today.md", or absolute in an assigned folder')
const replacement = {
  old_text: z.string().min(1).describe('The text to replace, copied from the file without row numbers'),
  new_text: z.string().describe('The text that replaces old_text; empty removes it'),
  replace_all: z.boolean().default(false).describe('Whether to replace every occurrence'),
}
const MAX_EDITS = 100
const UNREAD =
  'you have not read the file in this goal or task, so each old_text must match exactly and only once; read the file with file_read, then edit it'

/** The tools that work on the files of an agent's workspace, and nowhere else. */
export function fileToolkit(svc: PluginHandle, limits: FileConfig): Toolkit {
  // Serializes edits, because a model may request several edits of a file at once.
  const inTurn = keyedMutex()
  const texts = new TextFiles(svc, limits)

  return {
    name: 'file',
    everyday: true,
    instructions:
      'The file tools take paths relative to your workspace, or absolute paths in other folders assigned to you. Other paths are not accessible.',
    tools: [
      tool({
        name: 'file_read',
        description:
          'Read a text file, or look at an image. Use it before you change a file. Rows are numbered; the number and the tab are not part of the file. Read a long file in parts, as in {"path": "src/main.ts", "offset": 200, "limit": 100}; the last line says how to read on.',
        parameters: z.object({
          path,
          offset: z.coerce.number().int().min(0).default(0).describe('Number of rows to skip'),
          limit: z.coerce.number().int().min(1).max(5000).default(1000).describe('Maximum number of rows (1 to 5000)'),
        }),
        read_only: true,
        async execute({ path, offset, limit }, call) {
          const bytes = await texts.read(call, path)
          if (isImage(bytes)) return withImages(`${path} is an image.`, { data: bytes, name: path.slice(-200) })
          return windowOf(textOf(bytes, path), offset, limit, call.result_tokens)
        },
      }),
      tool({
        name: 'file_write',
        description:
          'Write a whole text file, and create missing folders. Use it for new files, or to replace a file that you have read. To change a part of a file, use file_edit.',
        parameters: z.object({ path, content: z.string().describe('The whole text of the file') }),
        idempotent: true,
        danger: 'creates or overwrites files',
        check: ({ path, content }, call) => texts.checkWrite(call, path, content),
        preview: async ({ path, content }, call) =>
          [`${(await texts.exists(call, path)) ? 'Replaces' : 'Creates'} ${path}:`, ...markLines('+', content)].join(
            '\n',
          ),
        execute: ({ path, content }, call) =>
          inTurn(call.workspace, async () => {
            call.signal.throwIfAborted()
            return `Wrote ${pluralize(await texts.write(call, path, content), 'byte')} to ${path}.`
          }),
      }),
      tool({
        name: 'file_edit',
        description:
          'Change parts of a text file that you have read. old_text must occur only once, unless replace_all is set; include surrounding lines to make it unique. Put several changes of a file into edits, as in {"path": "a.ts", "edits": [{"old_text": "x = 1", "new_text": "x = 2"}]}: all are made, or none.',
        parameters: z
          .object({
            path,
            old_text: replacement.old_text.optional(),
            new_text: replacement.new_text.optional(),
            replace_all: replacement.replace_all,
            edits: z.array(z.object(replacement)).max(MAX_EDITS).default([]).describe('Several changes, made in order'),
          })
          .superRefine(({ old_text, new_text, edits }, check) => {
            const isWhole = (old_text === undefined) === (new_text === undefined)
            if (isWhole && (old_text !== undefined || edits.length > 0)) return
            check.addIssue({ code: 'custom', message: 'give old_text and new_text, or edits' })
          }),
        danger: 'overwrites files',
        check: async (args, call) => {
          await plannedEdit(texts, args, call)
          await texts.checkWritable(call, args.path)
        },
        preview: args =>
          [
            `Changes ${args.path}:`,
            ...editsOf(args).flatMap(({ old_text, new_text, replace_all }) => [
              replace_all ? '@@ every occurrence @@' : '@@',
              ...markLines('-', old_text),
              ...markLines('+', new_text),
            ]),
          ].join('\n'),
        execute: (args, call) =>
          inTurn(call.workspace, async () => {
            call.signal.throwIfAborted()
            const { path } = args
            const { found, text, notes } = await plannedEdit(texts, args, call)
            const bytes = await texts.change(call, path, text, found)
            return [
              `Changed ${path}, which now has ${pluralize(bytes, 'byte')}.`,
              ...notes.map(note => `[${note}]`),
            ].join('\n')
          }),
      }),
      tool({
        name: 'file_patch',
        description:
          'Apply a unified diff to text files: all of it, or nothing. Use it for a patch that you were given, or for changes in many places; file_edit is simpler for a few changes. For a new file, the old name is /dev/null.',
        parameters: z.object({
          patch: z.string().min(1).max(1_000_000).describe('A unified diff: "--- a/file", "+++ b/file", "@@ … @@"'),
        }),
        hidden: true,
        danger: 'overwrites files',
        check: async ({ patch }, call) => {
          for (const path of (await plannedPatch(texts, patch, call)).keys()) await texts.checkWritable(call, path)
        },
        preview: ({ patch }) => patch,
        execute: ({ patch }, call) =>
          inTurn(call.workspace, async () => {
            call.signal.throwIfAborted()
            const changes = await plannedPatch(texts, patch, call)
            for (const [path, { found, text }] of changes) await texts.change(call, path, text, found)
            return `Patched ${[...changes.keys()].join(', ')}.`
          }),
      }),
      tool({
        name: 'list_dir',
        description: 'List a folder, with the sizes of its files.',
        parameters: z.object({
          path: path.default('.'),
          max_depth: z.coerce.number().int().min(1).max(10).default(2).describe('Levels of folders to show'),
          offset: z.coerce.number().int().min(0).default(0).describe('Number of entries to skip'),
          limit: z.coerce
            .number()
            .int()
            .min(1)
            .max(1000)
            .default(200)
            .describe('Maximum number of entries (1 to 1000)'),
        }),
        read_only: true,
        async execute({ path, max_depth, offset, limit }, call) {
          const folder = await svc.use(Jail).folder(call, path)
          const base = baseOf(path)
          const rules = await rulesAbove(svc, call, base)
          return listTree(svc.ports.files, folder, path, {
            depth: max_depth,
            offset,
            limit,
            base,
            rules,
            signal: call.signal,
          })
        },
      }),
      ...searchTools(svc, path, limits),
    ],
  }
}

interface EditArguments {
  path: string
  old_text?: string | undefined
  new_text?: string | undefined
  replace_all: boolean
  edits: Edit[]
}

function editsOf({ edits, ...one }: EditArguments): Edit[] {
  return one.old_text === undefined ? edits : [one as Edit, ...edits]
}

/** Returns the lines of a text with a mark, as in a diff. */
function markLines(mark: string, text: string): string[] {
  return text === ''
    ? []
    : text
        .replace(/\n$/, '')
        .split('\n')
        .map(line => `${mark}${line}`)
}

/**
 * Returns an edited file's new text, which is not written yet.
 * @throws EditError, OutsideError, PathError
 */
async function plannedEdit(texts: TextFiles, args: EditArguments, call: ToolCall) {
  const { path } = args
  const all = editsOf(args)
  const found = await texts.find(call, path)
  const { text, notes } = applyEdits(path, found.text, all)
  if (found.isUnread && (notes.length > 0 || all.some(edit => edit.replace_all))) {
    throw new EditError({ path, problem: UNREAD })
  }
  return { found, text, notes }
}

/**
 * Returns the new texts of the files that a patch changes, by path; they are not written yet.
 * @throws EditError, OutsideError, PathError
 */
async function plannedPatch(texts: TextFiles, patch: string, call: ToolCall) {
  const changes = new Map<string, { found: Found | undefined; text: string }>()
  for (const { path, isNew, apply } of patchOf(patch)) {
    if (isNew && (await texts.exists(call, path))) {
      throw new EditError({ path, problem: 'the patch creates this file, but it already exists' })
    }
    const earlier = changes.get(path)
    const found = earlier ? earlier.found : isNew ? undefined : await texts.find(call, path)
    changes.set(path, { found, text: apply(isNew ? '' : (earlier?.text ?? found?.text ?? '')) })
  }
  return changes
}
