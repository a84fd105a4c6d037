import { z } from '#kernel'
import { defineEffect, insertInto, isoTime, type Store } from '#platform/store/contract'
import { LearnedFacts, type LearnedModel } from './contract.ts'

interface Row {
  model: string
  endpoint: string
  facts: string
  configuration: string
  learned_at: number
}

/** Stores the facts learned about a model at one address. */
export const keepLearned = defineEffect({
  name: 'models.keep_learned',
  schema: z.object({ model: z.string(), endpoint: z.string(), facts: LearnedFacts, configuration: z.string() }),
  statements: ({ facts, ...row }, now) =>
    insertInto(
      'learned_models',
      { ...row, facts: JSON.stringify(facts), learned_at: now },
      `ON CONFLICT (model, endpoint) DO UPDATE SET facts = excluded.facts, configuration = excluded.configuration,
        learned_at = excluded.learned_at`,
    ),
})

/** Removes the facts learned about a model, at all addresses. */
export const forgetLearned = defineEffect({
  name: 'models.forget_learned',
  schema: z.object({ model: z.string() }),
  statements: ({ model }) => ({ sql: 'DELETE FROM learned_models WHERE model = ?', params: [model] }),
})

/** Returns the facts learned about a model at one address under this configuration; undefined when there are none. */
export async function findLearned(
  store: Store,
  { model, endpoint, configuration }: Pick<Row, 'model' | 'endpoint' | 'configuration'>,
): Promise<LearnedFacts | undefined> {
  const row = await store.glance<Pick<Row, 'facts'>>(
    'SELECT facts FROM learned_models WHERE model = ? AND endpoint = ? AND configuration = ?',
    [model, endpoint, configuration],
  )
  return row && factsIn(row)
}

/** Returns all learned facts by model, including those under other configurations. */
export async function listLearned(store: Store): Promise<LearnedModel[]> {
  const rows = await store.all<Row>('SELECT * FROM learned_models ORDER BY model, endpoint')
  return rows.map(({ model, endpoint, learned_at, ...row }) => {
    const { reported_window: _, ...facts } = factsIn(row)
    return { model, endpoint, learned_at: isoTime(learned_at), ...facts }
  })
}

function factsIn({ facts }: Pick<Row, 'facts'>): LearnedFacts {
  return LearnedFacts.parse(JSON.parse(facts))
}
