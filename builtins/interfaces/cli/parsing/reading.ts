import { join } from 'node:path'
import type { Kernel } from '#kernel'
import type { LogOptions } from '#lib/log'
import type { CliProgram, Context } from '../context.ts'
import { type CommandTree, type OperationRef, ReplacedByPluginError } from '../contract.ts'
import { warningsOn } from '../process/warnings.ts'
import { sayUntrusted } from '../project/trust.ts'

/** Whether an operation only reads and is the program's own: then no code of the project runs for it. */
export function readsWithBuiltins({ name, http }: Pick<OperationRef, 'name' | 'http'>, context: Context): boolean {
  const isOwn = context.tree.commands.some(({ operation }) => operation?.name === name)
  const isReplaced = context.commands.some(
    spec => spec.operation?.name === name && !context.tree.commands.includes(spec),
  )
  return http?.method === 'GET' && isOwn && !isReplaced
}

/**
 * Brings up a process that runs no plugin file. A service that a plugin provides in place of the program's own is refused there,
 * and the error names the plugin.
 */
export async function openReading(
  root: string,
  context: Context,
  options: Pick<Parameters<CliProgram['open']>[0], 'roles' | 'lenient'> & { log?: LogOptions },
): Promise<Kernel> {
  const replaced = await replacedServices(root, context)
  await sayUntrusted(root, context)
  return context.program.open({
    ...{ root, pluginFiles: 'none', log: { level: 'warn', write: warningsOn(context.terminal) }, ...options },
    prepare(kernel) {
      for (const { service, plugin, file } of replaced) {
        kernel.services.withhold(service, () => new ReplacedByPluginError({ service, plugin, file }))
      }
    },
  })
}

/** As the last process that ran the plugins left it. A plugin whose file is gone replaces nothing. */
async function replacedServices(root: string, { ports: { files } }: Context) {
  const tree = files.readFile(join(root, '.svc', 'commands.json'), 'utf8').then(text => JSON.parse(text))
  // A damaged file is written anew by the next process that runs the plugins.
  const { provides = [] } = (await tree.catch(() => ({}))) as Partial<CommandTree>
  const isThere = await Promise.all(
    provides.map(({ file }) =>
      files.access(file).then(
        () => true,
        () => false,
      ),
    ),
  )
  return provides.filter((_, at) => isThere[at])
}
