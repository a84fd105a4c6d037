import { dirname, join } from 'node:path'
import type { PluginHandle } from '#kernel'
import { Sandbox } from '#safety/sandbox/contract'

export const PROGRAMS = ['claude', 'codex'] as const
export type Program = (typeof PROGRAMS)[number]

/** How each is made to work without a person: the task comes on its standard input, where nothing is taken for an option. */
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
/** What each keeps of its login and its settings, below the home folder. */
const OWN: Readonly<Record<Program, readonly string[]>> = { claude: ['.claude', '.claude.json'], codex: ['.codex'] }

export function wordsFor(program: Program, path: string, model: string | undefined): [string, ...string[]] {
  return [path, ...WORDS[program](model)]
}

/** Which of them are installed, by their real paths. */
export async function findPrograms(svc: PluginHandle): Promise<Map<Program, string>> {
  const found = new Map<Program, string>()
  for (const program of PROGRAMS) {
    const path = await svc.use(Sandbox).find(program)
    if (path) found.set(program, await svc.ports.files.realpath(path))
  }
  return found
}

/**
 * What a program needs of the machine, inside the sandbox: itself, the interpreter that runs it, and its login. The home
 * folder is the operator's, for the login; nothing else of it can be seen there.
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
