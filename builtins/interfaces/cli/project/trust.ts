import { join, resolve } from 'node:path'
import { errorMessage, type Ports } from '#kernel'
import { isTrusted, TRUST_VARIABLE, trust, untrustedSentence } from '#lib/trust'
import type { Context } from '../context.ts'
import { printable } from '../screen/printable.ts'
import { findProject } from './project.ts'

/**
 * Environment variable for processes that a command starts; the command that the user typed has decided about trust.
 */
export const SPAWNED = 'SVC_SPAWNED'
/** Commands that trust the project in which they are run. */
const TRUSTING = ['init', 'start', 'serve', 'mcp']

/**
 * Trusts the project that a command names, or in whose folder it is run. A project found only in a parent folder is not
 * trusted: the user may not know of it.
 */
export async function trustByCommand(path: readonly string[], { ports, terminal, named }: Context): Promise<void> {
  if (!TRUSTING.includes(path.join(' ')) || ports.env[SPAWNED] === '1') return
  const chosen = named ?? ports.env.SVC_ROOT
  const here = resolve(chosen ?? process.cwd())
  const found = path[0] === 'init' ? here : await findProject(ports, chosen).catch(() => here)
  if (!chosen && (await realPath(ports, found)) !== (await realPath(ports, here))) return
  await trustProject(found, { ports, terminal })
}

/**
 * Trusts a project. Where the user's configuration cannot be written, as in a container, only this process and its
 * child processes trust it.
 */
export async function trustProject(
  root: string,
  { ports, terminal }: Pick<Context, 'ports' | 'terminal'>,
): Promise<void> {
  try {
    await trust(root, ports)
  } catch (error) {
    Object.assign(ports.env, { [TRUST_VARIABLE]: 'true' })
    if (!(await hasPlugins(ports, root))) return
    const remedy = `set ${TRUST_VARIABLE}=true where trust cannot be saved`
    terminal.err(printable(`svc: warning: the trust in ${root} could not be saved: ${errorMessage(error)}; ${remedy}`))
  }
}

/** Warns about plugin files that do not run because the project is not trusted, with the command that trusts it. */
export async function sayUntrusted(
  root: string,
  { ports, terminal }: Pick<Context, 'ports' | 'terminal'>,
): Promise<void> {
  if (!(await hasPlugins(ports, root)) || (await isTrusted(root, ports))) return
  terminal.err(printable(`svc: warning: ${untrustedSentence(root)}`))
}

/** Returns whether a project's plugin folders contain any files. */
export async function hasPlugins({ files }: Pick<Ports, 'files'>, root: string): Promise<boolean> {
  for (const folder of [join(root, 'plugins'), join(root, '.svc', 'plugins')]) {
    const names = await files.readdir(folder).catch(() => [])
    if (names.some(name => !/^\.|\.md$/.test(name))) return true
  }
  return false
}

function realPath({ files }: Pick<Ports, 'files'>, path: string): Promise<string> {
  return files.realpath(path).catch(() => path)
}
