/**
 * Process that calls the model of its environment on eight lines at once, as long as the project's budget allows:
 * `budget-spender.ts <root> <seed>`. The seed makes its ids unique.
 */

import { Models } from '#core/models/contract'
import models from '#core/models/index'
import { keyedIds, keyedRandom } from '#lib/keyed-random'
import store from '#platform/store/index'
import budget from '#safety/budget/index'
import { openKernel } from '../../../embed/compose.ts'

const [, , root = '', seed] = process.argv
const kernel = await openKernel({
  root,
  roles: ['server'],
  builtins: [store, models, budget],
  ports: { ids: keyedIds(keyedRandom(Number(seed))) },
  log: { level: 'fatal' },
})

async function spend(line: number): Promise<void> {
  for (let n = 0; ; n++) {
    try {
      await kernel.use(Models).call({
        model: null,
        messages: [{ role: 'user', content: 'x'.repeat(200) }],
        tools: [],
        temperature: 0,
        max_tokens: 100 + 10 * line,
        signal: new AbortController().signal,
        purpose: { agent_id: `line-${line}`, goal_id: null, cycle_num: n, kind: 'other' },
      })
    } catch (error) {
      if ((error as { code?: string }).code === 'budget_exhausted') return
      throw error
    }
  }
}
await Promise.all(Array.from({ length: 8 }, (_, line) => spend(line)))
await kernel.close()
