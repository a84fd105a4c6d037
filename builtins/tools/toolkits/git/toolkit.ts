import { type PluginHandle, z } from '#kernel'
import { type ToolCall, type Toolkit, tool } from '#tools/toolkits/contract'
import { Repository } from './repository.ts'

const path = z.string().min(1).max(4096)

/** Tools for the git repository of a workspace. */
export function gitToolkit(svc: PluginHandle): Toolkit {
  const repository = (call: ToolCall) => Repository.of(svc, call)
  return {
    name: 'git',
    tools: [
      tool({
        name: 'git_init',
        description: 'Create a git repository in your workspace, if there is none.',
        parameters: z.object({}),
        hidden: true,
        idempotent: true,
        async execute(_, call) {
          await (await repository(call)).init()
          return 'Your workspace is a git repository; git_status shows its branch.'
        },
      }),
      tool({
        name: 'git_status',
        description: 'Show the branch and which files of your workspace are changed, staged or untracked.',
        parameters: z.object({}),
        read_only: true,
        execute: async (_, call) =>
          (await repository(call)).run(['status', '--short', '--branch', '--ignore-submodules=all']),
      }),
      tool({
        name: 'git_diff',
        description: 'Show unstaged changes line by line; with staged, show staged changes instead.',
        parameters: z.object({
          staged: z.boolean().default(false),
          path: path.optional().describe('Only this file or folder'),
        }),
        read_only: true,
        async execute({ staged, path }, call) {
          const git = await repository(call)
          const options = ['--no-ext-diff', '--no-textconv', '--no-color', '--ignore-submodules=all']
          const paths = path === undefined ? [] : [await git.path(path)]
          const shown = await git.run(['diff', ...options, ...(staged ? ['--staged'] : []), '--', ...paths])
          return shown === '[exit code 0]' ? `[No ${staged ? 'staged' : 'unstaged'} changes of tracked files.]` : shown
        },
      }),
      tool({
        name: 'git_log',
        description: 'Show the newest commits, one per line.',
        parameters: z.object({
          count: z.coerce.number().int().min(1).max(200).default(10).describe('Maximum number of commits (1 to 200)'),
          skip: z.coerce.number().int().min(0).default(0).describe('Number of newest commits to skip'),
        }),
        read_only: true,
        execute: async ({ count, skip }, call) =>
          (await repository(call)).run([
            'log',
            `--max-count=${count}`,
            `--skip=${skip}`,
            '--no-show-signature',
            '--no-color',
            '--format=%h %ad %an: %s',
            '--date=iso-strict',
          ]),
      }),
      tool({
        name: 'git_add',
        description: 'Stage a file or folder, a list of them, or all with ".".',
        parameters: z.object({ path: z.union([path, z.array(path)]).default('.') }),
        idempotent: true,
        async execute({ path }, call) {
          const git = await repository(call)
          const paths = await Promise.all([path].flat().map(each => git.path(each)))
          const printed = await git.run(['add', '--verbose', '--', ...paths])
          return printed === '[exit code 0]' ? 'Nothing new to stage there. [exit code 0]' : printed
        },
      }),
      tool({
        name: 'git_commit',
        description: 'Commit what git_add staged.',
        parameters: z.object({
          message: z
            .string()
            .trim()
            .min(1)
            .max(10_000)
            .describe('Commit message: what was changed and why, with a short first line'),
        }),
        async check(_, call) {
          if ((await listStaged(await repository(call))) === '')
            throw new Error('nothing is staged, so there is nothing to commit; stage the changes with git_add first')
        },
        preview: async ({ message }, call) => `${message}\n\n${await listStaged(await repository(call))}`,
        execute: async ({ message }, call) =>
          (await repository(call)).run(['commit', '--no-verify', '--no-gpg-sign', '--file=-'], message),
      }),
    ],
  }
}

/** Returns the staged files with the number of changed lines; empty if there are none. */
async function listStaged(git: Repository): Promise<string> {
  const options = ['--no-ext-diff', '--no-textconv', '--no-color', '--ignore-submodules=all']
  return (await git.run(['diff', '--staged', '--stat', ...options])).replace(/\s*\[exit code 0\]$/, '')
}
