import { z } from '#kernel'
import { defineEffect, isoTime, type Store } from '#platform/store/contract'
import { LearnedFacts, type LearnedModel } from './contract.ts'

interface Row {
  model: string
  endpoint: string
  facts: string
  configuration: string
  learned_at: number
}

/** Keeps what is known of a model at an address. */
export const keepLearned = defineEffect({
  name: 'models.keep_learned',
  schema: z.object({ model: z.string(), endpoint: z.string(), facts: LearnedFacts, configuration: z.string() }),
  statements: ({ model, endpoint, facts, configuration }, now) => [
    {
      sql: `INSERT INTO learned_models (model, endpoint, facts, configuration, learned_at) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (model, endpoint) DO UPDATE SET facts = excluded.facts, configuration = excluded.configuration,
            learned_at = excluded.learned_at`,
      params: [model, endpoint, JSON.stringify(facts), configuration, now],
    },
  ],
})

/** Forgets what was learned of a model, at all addresses. */
export const forgetLearned = defineEffect({
  name: 'models.forget_learned',
  schema: z.object({ model: z.string() }),
  statements: ({ model }) => [{ sql: 'DELETE FROM learned_models WHERE model = ?', params: [model] }],
})

/** Returns what was learned of a model at an address under this configuration; undefined when nothing was. */
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

/** Returns all that was learned, also under other configurations, by model. */
export async function listLearned(store: Store): Promise<LearnedModel[]> {
  const rows = await store.all<Row>('SELECT * FROM learned_models ORDER BY model, endpoint')
  return rows.map(({ model, endpoint, learned_at, ...row }) => {
    return { model, endpoint, learned_at: isoTime(learned_at), ...factsIn(row) }
  })
}

function factsIn({ facts }: Pick<Row, 'facts'>): LearnedFacts {
  return LearnedFacts.parse(JSON.parse(facts))
}
