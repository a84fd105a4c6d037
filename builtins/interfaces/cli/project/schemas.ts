import { join } from 'node:path'
import type { ConfigKeyInfo, Ports } from '#kernel'
import { succeeds } from '#lib/succeeds'
import { replaceFile } from '#lib/yaml'
import type { Context } from '../context.ts'
import { isChild, runInChild } from '../process/child.ts'
import { hasPlugins } from './trust.ts'

/**
 * First lines of YAML files that name their schema for editors; the path is relative to the file. The package also has
 * both schemas, `svc/schema/config.json` and `svc/schema/profile.json`, without the keys of a project's plugins.
 */
export const SCHEMA_OF = {
  config: '# yaml-language-server: $schema=./schema/config.json',
  profile: '# yaml-language-server: $schema=../.svc/schema/profile.json',
} as const

interface Schema {
  [keyword: string]: unknown
  properties?: Record<string, Schema>
}

const DRAFT = 'http://json-schema.org/draft-07/schema#'

/** Writes the schema of profiles for editors. @returns whether that changed anything */
export async function writeProfileSchema(root: string, { ports }: Context): Promise<boolean> {
  return write(ports.files, root, 'profile.json', await profileSchema())
}

/** Returns the JSON schema of a profile. */
export async function profileSchema(): Promise<Schema> {
  const [{ z }, { Profile }] = await Promise.all([import('#kernel'), import('#core/profiles/contract')])
  // A profile without a name takes that of its file, and its role has a default.
  const options = { io: 'input', target: 'draft-7' } as const
  return closeObjects(z.toJSONSchema(Profile.partial({ name: true, role: true }), options)) as Schema
}

/** Forbids unknown keys, so that an editor marks them; the program only warns about them. */
function closeObjects(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(closeObjects)
  if (typeof part !== 'object' || part === null) return part
  const made = Object.fromEntries(Object.entries(part).map(([name, value]) => [name, closeObjects(value)]))
  return made.type === 'object' && made.properties ? { additionalProperties: false, ...made } : made
}

/**
 * Writes the schema of the configuration for editors, with the keys of all plugins, including those of the project.
 * @throws SvcError when the plugins cannot be loaded
 */
export async function writeConfigSchema(root: string, context: Context): Promise<boolean> {
  const { program, ports } = context
  if (!isChild(context) && (await hasPlugins(ports, root))) {
    const { code, stdout, errors } = await runInChild(root, ['__schema'], context)
    if (code !== 0) throw new Error(errors.join(' ').replace(/^svc: /, ''))
    return stdout.trim() === 'true'
  }
  await using kernel = await program.open({ root, roles: [], log: { level: 'silent' } })
  return write(ports.files, root, 'config.json', configSchema(kernel.config.keys()))
}

/** Copies the packaged configuration schema where none exists yet, for when the plugins cannot be loaded. */
export async function copyConfigSchema(root: string, { program, ports: { files } }: Context): Promise<boolean> {
  const file = join(root, '.svc', 'schema', 'config.json')
  return succeeds(
    files.copyFile(join(program.packageRoot, 'dist', 'schema', 'config.json'), file, files.constants.COPYFILE_EXCL),
  )
}

/** Returns the JSON schema of a configuration file with these keys. */
export function configSchema(keys: readonly ConfigKeyInfo[]): Schema {
  const tree: Schema = { $schema: DRAFT, ...section() }
  for (const { path, schema } of keys) {
    const steps = path.split('.')
    const last = steps.pop()!
    let at = tree
    for (const step of steps) {
      at.properties![step] ??= section()
      at = at.properties![step]
    }
    const { $schema, ...plain } = schema as Schema
    at.properties![last] = plain
  }
  // Keys of plugins that are added later.
  const { plugins } = tree.properties!
  plugins!.properties!.config = { ...section(), ...plugins!.properties!.config, additionalProperties: true }
  return tree
}

function section(): Schema {
  return { type: 'object', properties: {}, additionalProperties: false }
}

async function write(files: Ports['files'], root: string, name: string, schema: Schema): Promise<boolean> {
  const folder = join(root, '.svc', 'schema')
  await files.mkdir(folder, { recursive: true, mode: 0o700 })
  const file = join(folder, name)
  const text = `${JSON.stringify(schema, null, 2)}\n`
  if ((await files.readFile(file, 'utf8').catch(() => undefined)) === text) return false
  await replaceFile(files, file, text)
  return true
}
