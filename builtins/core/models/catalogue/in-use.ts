import type { PluginHandle } from '#kernel'
import { type ModelFacts, ModelUsers } from '../contract.ts'
import { factsOf, type ParameterConfig, type ProjectCatalogue } from './catalogue.ts'
import type { Target } from './names.ts'

export interface InUseParts {
  catalogue(): Promise<ProjectCatalogue>
  resolve(name: string | null): Promise<Target>
  config: ParameterConfig
}

/** Returns the facts of each model that is named anywhere, once. An unknown name is reported where it is used. */
export async function modelsInUse(
  svc: PluginHandle,
  { catalogue, resolve, config }: InUseParts,
): Promise<ModelFacts[]> {
  const named = await Promise.all(svc.list(ModelUsers).map(user => user.models()))
  const names = new Set(named.flat().map(name => name?.trim() || null))
  const listed = await catalogue()
  const found = await Promise.all(
    [...names].map(name =>
      resolve(name).then(
        target => factsOf(listed, target, config),
        () => undefined,
      ),
    ),
  )
  const facts = new Map(found.flatMap(each => (each ? [[each.model, each] as const] : [])))
  return [...facts.values()]
}
