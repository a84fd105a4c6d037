import { errorMessage, InvalidConfigError, type Issue } from '#kernel'
import type { ConfigFault } from '#platform/settings/contract'
import type { Context, HandWritten } from '../../context.ts'
import { isChild, runInChild, runsPlugins } from '../../process/child.ts'
import { findProject } from '../../project/project.ts'
import { sayUntrusted } from '../../project/trust.ts'
import { printable, printableJson } from '../../screen/printable.ts'

/** Problems of a configuration. */
interface Findings {
  faults: readonly ConfigFault[]
  /** Keys that no plugin defines. */
  unknown: readonly Issue[]
}

/**
 * Checks the configuration with the keys of all plugins. Changes nothing and needs no daemon.
 * @throws InvalidConfigError if the service would not start
 */
const validate: HandWritten = async (_input, context) => {
  const { ports, terminal, named, json } = context
  const root = await findProject(ports, named)
  if (isChild(context)) {
    terminal.out(JSON.stringify(await findHere(root, context)))
    return 0
  }
  await sayUntrusted(root, context)
  const { faults, unknown } = await find(root, context)
  const fatal = faults.filter(({ forbids }) => forbids === 'start')
  const errors = fatal.map(({ path, message }) => ({ path, message }))
  if (fatal.length > 0) throw new InvalidConfigError({ issues: errors }, { errors })
  const isValid = faults.length === 0 && unknown.length === 0
  if (json) terminal.out(printableJson(JSON.stringify({ valid: isValid, faults, unknown }, null, 2)))
  else if (isValid) terminal.out('.svc/config.yaml is valid, and all of its keys are known.')
  else {
    terminal.out('The service starts with this configuration, but:')
    for (const { path, message } of [...faults, ...unknown]) terminal.out(printable(`  ${path}: ${message}`))
  }
  return isValid ? 0 : 1
}
export default validate

/**
 * Finds problems, in a child process if plugins run. A plugin that hangs or ends that process is reported like any
 * other fault.
 */
async function find(root: string, context: Context): Promise<Findings> {
  if (!(await runsPlugins(root, context))) return findHere(root, context)
  try {
    const { stdout } = await runInChild(root, ['config', 'validate'], context)
    return JSON.parse(stdout) as Findings
  } catch (error) {
    const { faults, unknown } = await findHere(root, context)
    return { faults: [...faults, { path: 'plugins', message: errorMessage(error), forbids: 'nothing' }], unknown }
  }
}

async function findHere(root: string, context: Context): Promise<Findings> {
  const pluginFiles = isChild(context) ? 'trusted' : 'none'
  await using kernel = await context.program.open({
    root,
    roles: [],
    lenient: true,
    pluginFiles,
    log: { level: 'silent' },
  })
  const failed = kernel.host.list().filter(({ state }) => state === 'failed')
  const faults = failed.map(({ error }): ConfigFault => ({ path: 'plugins', message: error!, forbids: 'nothing' }))
  return { faults: [...(await kernel.config.faults()), ...faults], unknown: kernel.config.unknownKeys() }
}
