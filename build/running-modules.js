import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const builtins = fileURLToPath(new URL('../builtins', import.meta.url))
/** What modules may import of each other, and what they share. */
const SHARED = /(^|\/)(contract|statements)\.ts$|^lib\/[\w-]+\.ts$|^migrations\.ts$/
const PLACE = /\/plugin-files\/checkout\/running\.ts$/

/** Makes the table of what modules import by `#…`, for those that are loaded from their sources while the built program runs. */
export const runningModules = {
  name: 'running-modules',
  load(id) {
    if (!PLACE.test(id)) return undefined
    const files = readdirSync(builtins, { recursive: true }).filter(
      file => SHARED.test(file) && !file.endsWith('.d.ts') && !file.includes('node_modules'),
    )
    const names = ['#kernel', ...files.sort().map(file => `#${file.slice(0, -'.ts'.length)}`)]
    const imports = names.map((name, i) => `import * as m${i} from ${JSON.stringify(name)}`)
    const entries = names.map((name, i) => `${JSON.stringify(name)}: m${i}`)
    return `${imports.join('\n')}
const modules = { ${entries.join(', ')} }
export const runningModule = async name => modules[name]`
  },
}
