import { Store } from '#platform/store/contract'
import { Budget, type Budget as BudgetService, type BudgetStatus } from '#safety/budget/contract'
import type { Script, TestHost, TestHostOptions } from '../../support/index.ts'
import { testHostWithModel } from '../core/models/model-host.ts'

/** Address of another machine, so that calls have a price. */
const FAR = 'https://models.example/v1'

/** Price per token, in micro-dollars. */
export const PRICE = { input: 2, output: 50 }

/** Maximum output tokens of a worker's call. */
export const MAX_TOKENS = 200

const FILES = {
  'models.yaml': `prices:\n  openai:scripted: { input: ${PRICE.input}, output: ${PRICE.output} }\n`,
  'profiles/worker.yaml': `name: worker\nrole: does what the script says\nmax_steps: 5\nmax_tokens: ${MAX_TOKENS}\n`,
}

// Loaded here once, so that the time limit of the first call does not include it.
await import('openai')

/** Creates a test host whose agents call a priced scripted model over real HTTP. */
export async function testHostWithBudget(script: Script, options: TestHostOptions = {}) {
  let near = ''
  const home = await testHostWithModel(script, {
    ...options,
    files: { ...FILES, ...options.files },
    env: { OPENAI_BASE_URL: FAR, ...options.env },
    ports: { fetch: (input, init) => fetch(String(input).replace(FAR, near), init), ...options.ports },
  })
  near = home.server.url
  return home
}

export interface SpendRow {
  call_id: string
  agent_id: string | null
  kind: string
  model: string
  cost_micros: number
  input_tokens: number
  output_tokens: number
  priced: string
  estimated: number
  presumed: number
  attempts: number
  budget_window: number
}

export const status = ({ kernel }: Pick<TestHost, 'kernel'>) => kernel.invoke('budget.status') as Promise<BudgetStatus>
export const budgetOf = ({ kernel }: Pick<TestHost, 'kernel'>): BudgetService => kernel.use(Budget)
export const rows = ({ kernel }: Pick<TestHost, 'kernel'>) =>
  kernel.use(Store).all<SpendRow>('SELECT * FROM spend ORDER BY rowid')
export const reservations = ({ kernel }: Pick<TestHost, 'kernel'>) =>
  kernel.use(Store).all<{ call_id: string; cost_micros: number }>('SELECT * FROM budget_reservations')
export const eventsOf = async ({ kernel }: Pick<TestHost, 'kernel'>, type: string) =>
  (await kernel.use(Store).events(0, 10_000)).filter(event => event.type === type)

/** Returns what the server would charge, in micro-dollars and tokens. */
export function tokensCharged(bill: readonly { input_tokens: number; output_tokens: number }[]) {
  const sum = (key: 'input_tokens' | 'output_tokens') => bill.reduce((total, entry) => total + entry[key], 0)
  const [input, output] = [sum('input_tokens'), sum('output_tokens')]
  return { micros: input * PRICE.input + output * PRICE.output, tokens: input + output }
}

/** Returns whether the totals row equals the sum of the rows in its budget window. */
export async function totalsHold({ kernel }: Pick<TestHost, 'kernel'>): Promise<boolean> {
  const row = await kernel.use(Store).get<{ same: number }>(
    `SELECT spent_micros = (SELECT coalesce(sum(cost_micros), 0) FROM spend WHERE spend.budget_window = budget.budget_window)
       AND spent_tokens = (SELECT coalesce(sum(input_tokens + output_tokens), 0) FROM spend
         WHERE spend.budget_window = budget.budget_window) AS same FROM budget`,
  )
  return row?.same === 1
}
