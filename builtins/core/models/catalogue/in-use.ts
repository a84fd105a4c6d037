import type { PluginHandle } from '#kernel'
import { type ModelFacts, ModelUsers } from '../contract.ts'
import type { Target } from './names.ts'

/** Returns the facts of each model that is named anywhere, once. An unknown name is reported where it is used. */
export async function modelsInUse(
  svc: PluginHandle,
  resolve: (name: string | null) => Promise<Target>,
): Promise<ModelFacts[]> {
  const named = await Promise.all(svc.list(ModelUsers).map(user => user.models()))
  const names = new Set(named.flat().map(name => name?.trim() || null))
  const found = await Promise.all(
    [...names].map(name =>
      resolve(name).then(
        ({ facts }) => facts,
        () => undefined,
      ),
    ),
  )
  const facts = new Map(found.flatMap(each => (each ? [[each.model, each] as const] : [])))
  return [...facts.values()]
}
