import { mayPluginsAdd } from '#interfaces/plugins-admin/contract'
import { didYouMean, type PluginHandle } from '#kernel'
import { Toolkits } from '#tools/toolkits/contract'
import { FIND_TOOLS, FINISH_GOAL, LateTools, type Runtime } from './contract.ts'

/** The group of the toolkits of all plugin files, also where there are none. */
export const PLUGIN_FILES_GROUP = 'plugins'

/** Creates the function that reports names without a toolkit or tool. */
export function unknownNames(svc: PluginHandle): Runtime['unknownNames'] {
  return (kind, names) => {
    // Plugin files that are not run might add any name.
    if (mayPluginsAdd(svc)) return []
    const toolkits = svc.list(Toolkits)
    const known =
      kind === 'toolkit'
        ? [...new Set([PLUGIN_FILES_GROUP, ...toolkits.flatMap(({ name, group = name }) => [name, group])])]
        : [FINISH_GOAL, FIND_TOOLS, ...toolkits.flatMap(({ tools }) => tools.map(({ name }) => name))]
    const late = svc.list(LateTools)
    const unknown = names.filter(name => !known.includes(name) && !late.some(({ brings }) => brings(kind, name)))
    return [...new Set(unknown)].map(
      name =>
        `names the ${kind} ${JSON.stringify(name)}, which does not exist; ${didYouMean(name, known, 'svc tools')}`,
    )
  }
}
