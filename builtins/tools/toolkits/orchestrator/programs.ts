import { dirname, join } from 'node:path'
import type { PluginHandle } from '#kernel'
import { Sandbox } from '#safety/sandbox/contract'

export const PROGRAMS = ['claude', 'codex'] as const
export type Program = (typeof PROGRAMS)[number]

/**
 * Arguments with which each program runs without a person. The task is passed on standard input, so that none of it is
 * taken for an option.
 */
const WORDS: Readonly<Record<Program, (model: string | undefined) => string[]>> = {
  claude: (model = 'sonnet') => ['-p', '--permission-mode', 'acceptEdits', '--model', model],
  codex: model => [
    'exec',
    '--skip-git-repo-check',
    '--sandbox',
    'workspace-write',
    ...(model ? ['--model', model] : []),
    '-',
  ],
}
/** Paths of each program's login and settings, below the home folder. */
const OWN: Readonly<Record<Program, readonly string[]>> = { claude: ['.claude', '.claude.json'], codex: ['.codex'] }

export function wordsFor(program: Program, path: string, model: string | undefined): [string, ...string[]] {
  return [path, ...WORDS[program](model)]
}

/** Returns the real paths of the installed programs. */
export async function findPrograms(svc: PluginHandle): Promise<Map<Program, string>> {
  const found = new Map<Program, string>()
  for (const program of PROGRAMS) {
    const path = await svc.use(Sandbox).find(program)
    if (path) found.set(program, await svc.ports.files.realpath(path))
  }
  return found
}

/**
 * Returns what a program needs inside the sandbox: itself, its interpreter, and its login. The home folder is the
 * operator's, for the login; nothing else in it is visible.
 */
export function needsOf(program: Program, path: string, { ports: { env } }: PluginHandle, passed: readonly string[]) {
  const home = env.HOME
  const handed = passed.flatMap(name => (env[name] === undefined ? [] : [[name, env[name]] as const]))
  return {
    env: { ...Object.fromEntries(handed), ...(home ? { HOME: home } : {}) },
    read: [dirname(path), dirname(process.execPath)].filter(folder => folder !== home && folder !== '/'),
    write: home ? OWN[program].map(name => join(home, name)) : [],
  }
}
