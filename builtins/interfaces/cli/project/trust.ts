import { join, resolve } from 'node:path'
import { errorMessage, type Ports } from '#kernel'
import { isTrusted, TRUST_VARIABLE, trust, untrustedSentence } from '#lib/trust'
import type { Context } from '../context.ts'
import { printable } from '../screen/printable.ts'
import { findProject } from './project.ts'

/** Set for processes that a command starts itself: trust was decided by the command that the user typed. */
export const SPAWNED = 'SVC_SPAWNED'
/** Commands that give trust to the project in which they are typed. */
const TRUSTING = ['init', 'start', 'serve', 'mcp']

/**
 * Trusts the project that a command names, or in whose folder it is typed. One that was only found in a folder above is not
 * trusted by that: the user may not know of it.
 */
export async function trustByCommand(path: readonly string[], { ports, terminal, named }: Context): Promise<void> {
  if (!TRUSTING.includes(path.join(' ')) || ports.env[SPAWNED] === '1') return
  const chosen = named ?? ports.env.SVC_ROOT
  const here = resolve(chosen ?? process.cwd())
  const found = path[0] === 'init' ? here : await findProject(ports, chosen).catch(() => here)
  if (!chosen && (await realPath(ports, found)) !== (await realPath(ports, here))) return
  await trustProject(found, { ports, terminal })
}

/** Where the user's configuration cannot be written, as in a container, this process and those that it starts trust it all the same. */
export async function trustProject(
  root: string,
  { ports, terminal }: Pick<Context, 'ports' | 'terminal'>,
): Promise<void> {
  try {
    await trust(root, ports)
  } catch (error) {
    Object.assign(ports.env, { [TRUST_VARIABLE]: 'true' })
    if (!(await hasPlugins(ports, root))) return
    const remedy = `set ${TRUST_VARIABLE}=true where that cannot be written`
    terminal.err(printable(`svc: warning: that ${root} is trusted was not kept: ${errorMessage(error)}; ${remedy}`))
  }
}

/** Says which command gives trust, where there are plugin files that do not run for the lack of it. */
export async function sayUntrusted(
  root: string,
  { ports, terminal }: Pick<Context, 'ports' | 'terminal'>,
): Promise<void> {
  if (!(await hasPlugins(ports, root)) || (await isTrusted(root, ports))) return
  terminal.err(printable(`svc: warning: ${untrustedSentence(root)}`))
}

/** Whether there is anything in a project's folders of plugins. */
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
