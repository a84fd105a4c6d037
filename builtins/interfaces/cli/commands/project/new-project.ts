import { join, resolve } from 'node:path'
import { defineError } from '#kernel'
import type { HandWritten } from '../../context.ts'
import { UsageError } from '../../contract.ts'
import { trustProject } from '../../project/trust.ts'
import { PRESETS, TEMPLATES, type Template } from '../../scaffold/kinds.ts'
import { print } from '../../screen/printable.ts'
import { makeProject } from './init.ts'

const USAGE = `svc new project <name> [--template ${TEMPLATES.join('|')}]`

const FolderTakenError = defineError({
  code: 'folder_taken',
  status: 409,
  title: 'Folder not empty',
  message: (p: { path: string }) =>
    `${p.path} already exists and is not empty; choose another name, or create a project in it with: svc init`,
})

/** Creates a folder with a project and the presets of a template. */
const newProject: HandWritten = async ({ name, template = 'minimal' }, context) => {
  const { ports } = context
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(String(name))) {
    const problem = `new project: a name is at most 64 letters, digits, "-" and "_", as in my-agents, not "${name}"`
    throw new UsageError({ problem, usage: USAGE })
  }
  const root = resolve(context.named ?? '.', String(name))
  const there = await ports.files
    .readdir(root)
    .catch((error: NodeJS.ErrnoException) => (error.code === 'ENOENT' ? [] : [root]))
  if (there.length > 0) throw new FolderTakenError({ path: root })
  const presets = PRESETS[template as Template]
  const { parts } = await makeProject(root, context, { presets })
  await trustProject(root, context)
  const first = presets.length > 0 ? presets.join(',') : 'coder,researcher'
  const made = parts.map(part => `  created  ${join(String(name), part.name)}`)
  const next = `Next: cd ${name} && svc serve --with-daemon --profiles ${first}`
  return print(context, { root, template, parts }, [...made, '', next].join('\n'))
}
export default newProject
