import { join } from 'node:path'
import type { Context } from '../context.ts'
import type { Candidate, ValueKind, Values } from './complete.ts'
import { QUERIES } from './repository.ts'

/** Creates a fast lookup of a project's items that starts no modules and runs no plugins. */
export function valuesOf(root: string | undefined, packaged: string, { ports, program }: Context): Values {
  const { files } = ports
  const namesIn = async (folder: string, ending: RegExp): Promise<Candidate[]> =>
    (await files.readdir(folder).catch(() => []))
      .filter(name => ending.test(name) && !name.startsWith('.'))
      .map(name => ({ word: name.replace(ending, ''), about: '' }))
  const presets = async () => {
    const own = root ? await namesIn(join(root, 'profiles'), /\.ya?ml$/) : []
    return own.length > 0 ? own : namesIn(packaged, /\.ya?ml$/)
  }
  const rowsOf = async (kind: ValueKind): Promise<Candidate[]> => {
    const query = QUERIES[kind as keyof typeof QUERIES]
    if (!root || !query) return []
    const { peek } = await program.peek()
    return (await peek(join(root, '.svc', 'svc.db'), query, ports)) as unknown as Candidate[]
  }
  return async kind => {
    if (kind === 'presets') return presets()
    if (kind === 'plugins') return root ? namesIn(join(root, 'plugins'), /(\.(ts|js|mjs))?$/) : []
    if (kind === 'config_keys') return root ? keysOf(await schemaOf(root)) : []
    return rowsOf(kind)
  }

  async function schemaOf(root: string): Promise<Schema> {
    const text = await files.readFile(join(root, '.svc', 'schema', 'config.json'), 'utf8').catch(() => '{}')
    return JSON.parse(text) as Schema
  }
}

interface Schema {
  description?: string
  additionalProperties?: unknown
  properties?: Record<string, Schema>
}

/** The keys of the configuration, from the schema that `svc init` writes for editors. */
function keysOf({ properties = {} }: Schema, above = ''): Candidate[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const word = above + name
    if (schema.properties && Object.keys(schema.properties).length > 0) return keysOf(schema, `${word}.`)
    return name.startsWith('$') ? [] : [{ word, about: schema.description ?? '' }]
  })
}
