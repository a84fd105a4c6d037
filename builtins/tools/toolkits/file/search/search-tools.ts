import { type PluginHandle, z } from '#kernel'
import { Jail, type JailFolder, reachOf, Sandbox } from '#safety/sandbox/contract'
import { type Tool, type ToolCall, tool } from '#tools/toolkits/contract'
import type { FileConfig } from '../config.ts'
import { IgnoreRules } from './ignore.ts'
import { baseOf, rulesAbove } from './rules-above.ts'
import { globFiles, grepFile, grepFiles, type Search } from './search.ts'

const common = {
  include_ignored: z.boolean().default(false).describe('Also search files that .gitignore excludes'),
}
const limit = (usual: number) => z.coerce.number().int().min(1).max(1000).default(usual)

/** Tools that find files by name or content. */
export function searchTools(svc: PluginHandle, path: z.ZodString, limits: FileConfig): Tool[] {
  const { files } = svc.ports

  const searchIn = async (call: ToolCall, path: string, all: boolean, work: (search: Search) => Promise<string>) => {
    const folder = await svc.use(Jail).folder(call, path)
    try {
      return await work(await searchOf(call, path, all, folder))
    } finally {
      await folder.close()
    }
  }

  const searchOf = async (call: ToolCall, path: string, all: boolean, folder: JailFolder): Promise<Search> => {
    const base = baseOf(path)
    const rules = all ? IgnoreRules.none : await rulesAbove(svc, call, base)
    const { signal, result_tokens } = call
    return {
      files,
      folder,
      sandbox: svc.use(Sandbox),
      reach: reachOf(call),
      path,
      all,
      base,
      rules,
      signal,
      result_tokens,
    }
  }

  const isFile = async (call: ToolCall, path: string) => {
    const { real, exists } = await svc.use(Jail).resolve(call, path)
    return exists && (await files.stat(real)).isFile()
  }

  return [
    tool({
      name: 'glob',
      description:
        'Search for files by a pattern of their path, such as "src/**/*.ts" or "*.md" (in any folder). Use it to find where files are; for what they contain use grep.',
      parameters: z.object({
        pattern: z
          .string()
          .trim()
          .min(1)
          .max(500)
          .describe('Glob pattern with *, **, ?, [ab] and {a,b}, relative to path'),
        path: path.default('.').describe('Folder to search in'),
        limit: limit(200).describe('Maximum number of files'),
        ...common,
      }),
      read_only: true,
      execute: async ({ pattern, path, limit, include_ignored }, call) =>
        searchIn(call, path, include_ignored, search => globFiles(search, pattern, limit)),
    }),
    tool({
      name: 'grep',
      description:
        'Find a text or a regular expression in files, line by line. Shows path:line: text, as in {"pattern": "class \\\\w+Error", "glob": "*.ts"}.',
      parameters: z.object({
        pattern: z.string().min(1).max(1000).describe('JavaScript regular expression'),
        path: path.default('.').describe('Folder, or file; name a file over 2 MB here'),
        glob: z
          .string()
          .trim()
          .min(1)
          .max(500)
          .optional()
          .describe('Search only files that match this pattern, such as "*.ts"'),
        literal: z.boolean().default(false).describe('Take pattern as plain text'),
        ignore_case: z.boolean().default(false),
        context: z.coerce.number().int().min(0).max(100).default(0).describe('Lines to show around each match'),
        files_only: z.boolean().default(false).describe('Only list the files with a match'),
        limit: limit(100).describe('Maximum number of matches'),
        ...common,
      }),
      read_only: true,
      async execute({ path, include_ignored, ...options }, call) {
        if (!(await isFile(call, path)))
          return searchIn(call, path, include_ignored, search => grepFiles(search, options))
        const file = await svc.use(Jail).open(call, path)
        try {
          return await grepFile(file, path, options, limits.file_max_read_bytes, call.result_tokens)
        } finally {
          await file.close()
        }
      },
    }),
  ]
}
