import { join, relative, resolve } from 'node:path'
import { errorMessage, HostToken, operation, type PluginHandle, z } from '#kernel'
import { INDEX_FILES } from '#lib/plugin-file'
import { type DryRun, PluginError } from '#platform/plugin-files/contract'
import { DatabaseImages, PluginMigrationError, PluginMigrations } from '#platform/store/contract'
import { describeDryRun } from './check.ts'
import { PluginCheck, PluginFileMissingError } from './contract.ts'
import { renderCheck } from './render.ts'

/** Has no route, because it runs a file chosen by the caller, who must therefore be at the machine. */
export const pluginsCheck = operation({
  name: 'plugins.check',
  summary: 'Check a plugin file',
  description:
    'Shows what the plugin would register, or why it would be refused; nothing goes live. The file and its setup run in this process, not in the daemon; its resources are not started. Its migrations run in a database in memory. Names are compared with those of the plugins of this project.',
  input: z.strictObject({ file: z.string().min(1).max(4096).describe('The file, or the folder with its index.ts') }),
  output: PluginCheck,
  cli: { usage: 'plugins check <file>' },
  errors: [PluginFileMissingError, PluginError, PluginMigrationError],
  async run({ file: named }, { svc, via }) {
    const { root } = svc.project
    const file = await findFile(svc, resolve(via === 'cli' ? process.cwd() : root, named))
    const found = await svc.use(HostToken).check(file)
    await tryMigrations(svc, found, file)
    return describeDryRun(found, displayPath(file, root))
  },
  render: renderCheck,
})

/**
 * Returns the path of the plugin file.
 * @throws PluginFileMissingError
 */
async function findFile({ ports: { files }, project }: PluginHandle, path: string): Promise<string> {
  // A file linked from the project's plugin folders keeps its path there.
  const isOwn = project.plugins.some(folder => path.startsWith(`${folder}/`))
  for (const file of [path, ...INDEX_FILES.map(index => join(path, index))]) {
    const found = await files.stat(file).catch(() => undefined)
    if (found?.isFile()) return isOwn ? file : files.realpath(file)
  }
  throw new PluginFileMissingError({ file: path })
}

/**
 * Runs the plugin's migrations in a database in memory, after those of other plugins, whose tables they may use.
 * @throws PluginMigrationError
 */
async function tryMigrations(
  svc: PluginHandle,
  { definition: { name: plugin }, contributions }: DryRun,
  file: string,
): Promise<void> {
  const own = contributions.get(`${PluginMigrations.name}: ${plugin}`) as { steps: readonly string[] } | undefined
  const scratch = own && svc.has(DatabaseImages) ? await svc.use(DatabaseImages).scratch?.() : undefined
  if (!own || !scratch) return
  try {
    const others = svc.list(PluginMigrations).filter(({ name }) => name !== plugin)
    for (const sql of others.flatMap(({ steps }) => steps)) await scratch.write([{ sql }]).catch(() => {})
    for (const [done, sql] of own.steps.entries()) {
      await scratch.write([{ sql }]).catch((cause: unknown) => {
        throw new PluginMigrationError({ plugin, file, step: done + 1, problem: errorMessage(cause) }, { cause })
      })
    }
  } finally {
    scratch.close()
  }
}

function displayPath(file: string, root: string): string {
  const below = relative(root, file)
  return below.startsWith('..') ? file : below
}
