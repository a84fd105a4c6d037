import { join } from 'node:path'
import type { ConfigKeyInfo, Ports } from '#kernel'
import { replaceFile } from '#lib/yaml'
import type { Context } from '../context.ts'
import { isChild, runInChild } from '../process/child.ts'
import { hasPlugins } from './trust.ts'

/**
 * What an editor needs to know beside a YAML file, as its first line; the path is relative to the file. The package has both
 * schemas too, as `svc/schema/config.json` and `svc/schema/profile.json`, without the keys of a project's plugins.
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

/** What a profile may say. */
export async function profileSchema(): Promise<Schema> {
  const [{ z }, { Profile }] = await Promise.all([import('#kernel'), import('#core/profiles/contract')])
  // A profile that has no name is called as its file is, and its role has a default.
  const options = { io: 'input', target: 'draft-7' } as const
  return closeObjects(z.toJSONSchema(Profile.partial({ name: true, role: true }), options)) as Schema
}

/** A key that is not known is taken with a warning by the program, and marked by an editor. */
function closeObjects(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(closeObjects)
  if (typeof part !== 'object' || part === null) return part
  const made = Object.fromEntries(Object.entries(part).map(([name, value]) => [name, closeObjects(value)]))
  return made.type === 'object' && made.properties ? { additionalProperties: false, ...made } : made
}

/**
 * Writes the schema of the configuration for editors: with the keys of all plugins, the project's own too.
 * @throws SvcError when they cannot be brought up
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

/** Puts the packaged schema of the configuration where there is none yet, for when the plugins cannot be asked. */
export async function copyConfigSchema(root: string, { program, ports: { files } }: Context): Promise<boolean> {
  const file = join(root, '.svc', 'schema', 'config.json')
  return files
    .copyFile(join(program.packageRoot, 'dist', 'schema', 'config.json'), file, files.constants.COPYFILE_EXCL)
    .then(
      () => true,
      () => false,
    )
}

/** What a configuration file may say, with these keys. */
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
  // The keys of plugins that come later.
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
