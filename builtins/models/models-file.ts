import { join } from 'node:path'
import { BadFileError, issuesOf, type Ports, readYaml } from '#kernel'
import { CATALOGUE, Catalogue } from './catalogue.ts'

/**
 * The shipped catalogue with the project's `models.yaml` over it. The file is looked at before each use and read when it changed.
 * @throws BadFileError (from the returned function) with file, line and what would be right
 */
export function projectCatalogue(files: Ports['files'], root: string): () => Promise<Catalogue> {
  const file = join(root, 'models.yaml')
  let seen = ''
  let catalogue = CATALOGUE
  return async () => {
    const stat = await files.stat(file).catch(() => undefined)
    const version = stat ? `${stat.mtimeMs}/${stat.size}` : ''
    if (version === seen) return catalogue
    catalogue = version ? merge(CATALOGUE, await read(files, file)) : CATALOGUE
    seen = version
    return catalogue
  }
}

async function read(files: Ports['files'], file: string): Promise<Catalogue> {
  const yaml = await readYaml(files, file)
  const parsed = Catalogue.safeParse(yaml.values)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]!
  const path = [...issue.path, ...(issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [])].map(String)
  const [{ path: at, message } = { path: '', message: '' }] = issuesOf(parsed.error)
  throw new BadFileError({
    file,
    line: yaml.lineOf(path) ?? 1,
    problem: `${at}: ${message}`,
    remedy:
      'it holds "tiers" (provider, then lite, standard, pro) and "prices" (provider:model, then input, output, cached_input in USD per million tokens)',
  })
}

function merge(base: Catalogue, over: Catalogue): Catalogue {
  const tiers = { ...base.tiers }
  for (const [provider, names] of Object.entries(over.tiers)) tiers[provider] = { ...tiers[provider], ...names }
  return { tiers, prices: { ...base.prices, ...over.prices } }
}
