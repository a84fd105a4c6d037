import { join } from 'node:path'
import { closestMatches, errorMessage, type Issue, issuesOf, type PluginHandle, type Ports } from '#kernel'
import { BadFileError, readYaml } from '#lib/yaml'
import { ModelParameters } from '../parameters/contract.ts'
import { Catalogue, ModelLimits, Price, type ProjectCatalogue, TIERS } from './catalogue.ts'

export const MODELS_FILE = 'models.yaml'

/** Known keys, by the part of the file that has them. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  '': Object.keys(Catalogue.shape),
  tiers: TIERS,
  prices: [...Object.keys(Price.shape), 'above'],
  models: Object.keys(ModelLimits.shape),
  parameters: Object.keys(ModelParameters.shape),
}

/**
 * Returns a function that merges the project's `models.yaml` over the given catalogue. The file is checked before each
 * use and read when it changed; after an invalid edit, a warning is logged and the previous content stays in force.
 * @throws BadFileError (from the returned function) with file, line and a fix, when there is no previous content
 */
export function projectCatalogue(
  base: Catalogue,
  { ports, project: { root }, log }: Pick<PluginHandle, 'ports' | 'project' | 'log'>,
): () => Promise<ProjectCatalogue> {
  const file = join(root, MODELS_FILE)
  let seen = ''
  let catalogue: ProjectCatalogue | undefined
  return async () => {
    const version = ports.stampOf(file) ?? ''
    if (catalogue && version === seen) return catalogue
    try {
      const own = await readCatalogue(ports, root)
      catalogue = { ...(own ? merge(base, own) : base), configured: new Set(Object.keys(own?.prices ?? {})) }
    } catch (error) {
      if (!catalogue) throw error
      log.warn({ code: 'bad_models_file' }, `${errorMessage(error)} The earlier models and prices stay in use.`)
    }
    seen = version
    return catalogue
  }
}

/** Reads the project's `models.yaml`; undefined where there is none. @throws BadFileError with file, line and a fix */
export async function readCatalogue(
  { files, stampOf }: Pick<Ports, 'files' | 'stampOf'>,
  root: string,
): Promise<Catalogue | undefined> {
  const file = join(root, MODELS_FILE)
  if (!stampOf(file)) return undefined
  const yaml = await readYaml(files, file)
  const parsed = Catalogue.safeParse(yaml.values)
  if (parsed.success) return parsed.data
  const { issues } = parsed.error
  // A misspelt key is often reported as a missing one, too.
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0]!
  const key = issue.code === 'unrecognized_keys' ? issue.keys[0]! : undefined
  const path = [...issue.path, ...(key === undefined ? [] : [key])].map(String)
  const [{ path: at, message }] = issuesOf({ issues: [issue] }) as [Issue]
  const known = KEYS[String(issue.path[0] ?? '')] ?? []
  const [closest] = key === undefined ? [] : closestMatches(key, known)
  throw new BadFileError({
    file,
    line: yaml.lineOf(path) ?? 1,
    problem: `${at}: ${message}`,
    remedy: closest
      ? `did you mean "${closest}"? Known fields there: ${known.join(', ')}`
      : 'the file may contain "tiers" (provider, then lite, standard, pro), "prices" (provider:model, then input, output, cached_input, cache_write in USD per million tokens), "models" (provider:model, then context_window, max_output_tokens, vision), "tool_calls" (provider:model, then native, prompted or auto) and "parameters" (provider:model or provider:tier, then reasoning_effort, thinking_tokens, max_tokens, temperature, top_p, stop, seed, verbosity, extra)',
  })
}

/** Merges entries of `over` over those of `base`; a model's limits are merged field by field. */
export function merge(base: Catalogue, over: Catalogue): Catalogue {
  const tiers = { ...base.tiers }
  for (const [provider, names] of Object.entries(over.tiers)) tiers[provider] = { ...tiers[provider], ...names }
  const models = { ...base.models }
  for (const [name, limits] of Object.entries(over.models)) models[name] = { ...models[name], ...limits }
  const prices = { ...base.prices, ...over.prices }
  const parameters = { ...base.parameters, ...over.parameters }
  return { tiers, prices, models, tool_calls: { ...base.tool_calls, ...over.tool_calls }, parameters }
}
