import type { Context, HandWritten } from '../context.ts'
import { printable } from '../printable.ts'
import { findProject } from '../project.ts'

/** Says whether the configuration would be taken, with the keys of all plugins; changes nothing, and needs no daemon. */
const validate: HandWritten = async (_input, context) => {
  const { house, ports, terminal, named, json } = context
  const root = await findProject(ports, named)
  const unknown = await unknownKeys(house, root)
  if (json) terminal.out(JSON.stringify({ valid: unknown.length === 0, unknown }, null, 2))
  else if (unknown.length === 0) terminal.out('.svc/config.yaml is valid, and all of its keys are known.')
  else {
    terminal.out('.svc/config.yaml is taken, but for keys that nobody knows; svc config lists those there are:')
    for (const { path, message } of unknown) terminal.out(printable(`  ${path}: ${message}`))
  }
  return unknown.length > 0 ? 1 : 0
}
export default validate

/** @throws InvalidConfigError, BadFileError */
async function unknownKeys(house: Context['house'], root: string) {
  await using kernel = await house.open({ root, roles: [], log: { level: 'silent' } })
  return kernel.config.unknownKeys()
}
