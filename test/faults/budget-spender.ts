/**
 * A process that asks the model of its environment on eight lines at once, as long as the budget of the project lets it:
 * `budget-spender.ts <root> <seed>`. Its ids are its own by the seed.
 */

import { keyedIds, keyedRandom } from '#lib/keyed-random'
import budget from '../../builtins/budget/index.ts'
import { Models } from '../../builtins/models/contract.ts'
import models from '../../builtins/models/index.ts'
import store from '../../builtins/store/index.ts'
import { openKernel } from '../../compose.ts'

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
        ...{ model: null, messages: [{ role: 'user', content: 'x'.repeat(200) }], tools: [], temperature: 0 },
        ...{ max_tokens: 100 + 10 * line, signal: new AbortController().signal },
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
