import { join } from 'node:path'
import type { Kernel } from '#kernel'
import type { LogOptions } from '#lib/log'
import { succeeds } from '#lib/succeeds'
import type { CliProgram, Context } from '../context.ts'
import { type CommandTree, type OperationRef, ReplacedByPluginError } from '../contract.ts'
import { openWithWarnings } from '../process/warnings.ts'
import { sayUntrusted } from '../project/trust.ts'

/** Returns whether an operation only reads and is a builtin; then it runs without the project's code. */
export function readsWithBuiltins({ name, http }: Pick<OperationRef, 'name' | 'http'>, context: Context): boolean {
  const isOwn = context.tree.commands.some(({ operation }) => operation?.name === name)
  const isReplaced = context.commands.some(
    spec => spec.operation?.name === name && !context.tree.commands.includes(spec),
  )
  return http?.method === 'GET' && isOwn && !isReplaced
}

/**
 * Opens a project without running plugin files. A service that a plugin replaces is unavailable; the error names the
 * plugin.
 */
export async function openReading(
  root: string,
  context: Context,
  options: Pick<Parameters<CliProgram['open']>[0], 'roles' | 'lenient'> & { log?: LogOptions },
): Promise<Kernel> {
  const replaced = await replacedServices(root, context)
  await sayUntrusted(root, context)
  return openWithWarnings(root, context, {
    ...options,
    pluginFiles: 'none',
    prepare(kernel) {
      for (const { service, plugin, file } of replaced) {
        kernel.services.withhold(service, () => new ReplacedByPluginError({ service, plugin, file }))
      }
    },
  })
}

/**
 * Returns the replaced services that the last process with plugins recorded, without those whose plugin file is gone.
 */
async function replacedServices(root: string, { ports: { files } }: Context) {
  const tree = files.readFile(join(root, '.svc', 'commands.json'), 'utf8').then(text => JSON.parse(text))
  // The next process that runs the plugins rewrites a damaged file.
  const { provides = [] } = (await tree.catch(() => ({}))) as Partial<CommandTree>
  const isThere = await Promise.all(provides.map(({ file }) => succeeds(files.access(file))))
  return provides.filter((_, at) => isThere[at])
}
