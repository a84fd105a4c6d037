import { join, relative } from 'node:path'
import { defineError, type Ports } from '#kernel'
import type { Context, HandWritten } from '../../context.ts'
import { type CommandTree, UsageError } from '../../contract.ts'
import { cannotWrite, makeFile } from '../../project/make-files.ts'
import { findProject } from '../../project/project.ts'
import { writeProfileSchema } from '../../project/schemas.ts'
import { isInstalled, tsconfig } from '../../project/tsconfig.ts'
import { PLUGIN_KINDS, type PluginKind } from '../../scaffold/kinds.ts'
import { scaffoldPlugin } from '../../scaffold/plugin.ts'
import { scaffoldProfile } from '../../scaffold/profile.ts'
import { print } from '../../screen/printable.ts'

const PLUGIN_USAGE = `svc new plugin <name> [--kind ${PLUGIN_KINDS.join('|')}]`

const AlreadyThereError = defineError({
  code: 'already_there',
  status: 409,
  title: 'File already exists',
  message: (p: { path: string }) => `${p.path} already exists and was not changed; choose another name, or edit it.`,
})

/** Writes a working example plugin and a test for it. */
export const newPlugin: HandWritten = async ({ name, kind = 'mix' }, context) => {
  if (!/^[a-z0-9][a-z0-9-]{0,63}$/.test(String(name))) {
    const problem = `new plugin: a name is at most 64 lower-case letters, digits and hyphens, as in office-hours, not "${name}"`
    throw new UsageError({ problem, usage: PLUGIN_USAGE })
  }
  if (isOurs(String(name), context.tree)) {
    const problem = `new plugin: "${name}" is the name of a module or command of svc; choose another name, such as my-${name}`
    throw new UsageError({ problem, usage: PLUGIN_USAGE })
  }
  const root = await findProject(context.ports, context.named)
  const made = await writePlugin(root, String(name), kind as PluginKind, context)
  return printMade(context, made, [
    `Check it:   svc plugins check plugins/${name}.ts`,
    `Test it:    npx vitest run plugins/${name}.test.ts${needsForTests(root, context)}`,
    `Load it:    svc plugins reload ${name}   (otherwise loaded at every tenth heartbeat, or on each save with svc start --dev)`,
    `Read on:    ${nearest(join(context.program.packageRoot, 'plugins', 'README.md'))}`,
  ])
}

/**
 * Returns whether a plugin of this name would be refused, because a builtin module, toolkit or command has the name.
 */
function isOurs(name: string, { modules, commands }: CommandTree): boolean {
  return modules.includes(name) || modules.includes(`toolkit-${name}`) || commands.some(({ path }) => path[0] === name)
}

/** Writes a preset of agents. */
export const newProfile: HandWritten = async ({ name }, context) => {
  if (!/^(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(String(name))) {
    const problem = `new profile: a name is at most 64 letters, digits, ".", "_" and "-", as in night-watch, not "${name}"`
    throw new UsageError({ problem, usage: 'svc new profile <name>' })
  }
  const root = await findProject(context.ports, context.named)
  await refuseSamePreset(root, String(name), context.ports)
  const made = await write(root, [[`profiles/${name}.yaml`, scaffoldProfile(String(name))]], context.ports)
  await writeProfileSchema(root, context)
  return printMade(context, made, [`Spawn an agent:  svc spawn ${name}`])
}

async function writePlugin(root: string, name: string, kind: PluginKind, context: Context): Promise<string[]> {
  const stems = [`plugins/${name}`, `.svc/plugins/${name}`]
  const same = stems.flatMap(stem => [stem, `${stem}.ts`, `${stem}.js`, `${stem}.mjs`])
  await refuseExisting(root, [...same, `plugins/${name}.test.ts`], context.ports)
  const { source, test } = scaffoldPlugin(kind, name)
  const made = await write(
    root,
    [
      [`plugins/${name}.ts`, source],
      [`plugins/${name}.test.ts`, test],
    ],
    context.ports,
  )
  const types = await makeFile(
    context.ports.files,
    join(root, 'tsconfig.json'),
    tsconfig(root, context.program.packageRoot),
  )
  return types ? [...made, 'tsconfig.json'] : made
}

/**
 * Refuses to overwrite files, before anything is written.
 * @throws AlreadyThereError
 */
async function refuseExisting(root: string, paths: readonly string[], { files }: Ports): Promise<void> {
  for (const path of paths) {
    const there = await files.lstat(join(root, path)).catch(() => undefined)
    if (there) throw new AlreadyThereError({ path })
  }
}

/**
 * Refuses a preset whose name differs from an existing one only in case, because neither could be used.
 * @throws AlreadyThereError before anything is written
 */
async function refuseSamePreset(root: string, name: string, { files }: Ports): Promise<void> {
  const there = await files.readdir(join(root, 'profiles')).catch((): string[] => [])
  const same = there.find(file => file.toLowerCase().replace(/\.ya?ml$/, '') === name.toLowerCase())
  if (same) throw new AlreadyThereError({ path: `profiles/${same}` })
}

/**
 * Writes the files.
 * @returns their paths
 * @throws CannotWriteError, AlreadyThereError
 */
async function write(root: string, texts: readonly [string, string][], { files }: Ports): Promise<string[]> {
  for (const [path, text] of texts) {
    const file = join(root, path)
    try {
      await files.mkdir(join(file, '..'), { recursive: true })
      if (await makeFile(files, file, text)) continue
    } catch (error) {
      throw cannotWrite(file, error)
    }
    throw new AlreadyThereError({ path })
  }
  return texts.map(([path]) => path)
}

/** Returns a hint on the packages that the project's tests still need. */
function needsForTests(root: string, { program }: Context): string {
  if (isInstalled(root)) return '   (needs vitest: npm install --save-dev vitest)'
  return `   (first: npm install --save-dev vitest ${nearest(program.packageRoot)})`
}

/** Returns the path relative to the current folder, if that is shorter. */
function nearest(path: string): string {
  const below = relative(process.cwd(), path)
  return below !== '' && below.length < path.length ? below : path
}

function printMade(context: Context, made: readonly string[], next: readonly string[]): number {
  return print(context, { made }, [...made.map(path => `created  ${path}`), '', ...next].join('\n'))
}
