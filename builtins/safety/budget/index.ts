import { AgentFacets, BlockReasons } from '#core/agents/contract'
import { CallLimits } from '#core/models/contract'
import { definePlugin } from '#kernel'
import { DoctorChecks } from '#lib/doctor-check'
import { withEarlierNames } from '#lib/earlier-names'
import { DaemonStarts, DaemonStatusParts } from '#platform/daemon/contract'
import { type HasWork, idsOf } from '#platform/heartbeat/contract'
import { Effects } from '#platform/store/contract'
import { agentBudget } from './agent-limits.ts'
import { BudgetConfig } from './config.ts'
import { AgentBudgetExhausted, Budget, BudgetExceeded, BudgetReset, BudgetTight, bookSpend } from './contract.ts'
import { Ledger } from './ledger.ts'
import { budgetOperations } from './operations.ts'
import { BUDGET_EFFECTS } from './repository.ts'
import { budgetForgets } from './retention.ts'
import { budgetSpending } from './spending.ts'
import { pricesFinding } from './warnings.ts'

export default definePlugin({
  name: 'budget',
  description: 'Limits what all agents and tasks spend together: reserved before each model call, booked after it.',
  needs: ['store', 'models'],
  section: 'daemon',
  config: BudgetConfig,
  setup(svc, config) {
    const ledger = new Ledger(svc, config)
    svc.provide(Budget, withEarlierNames(ledger, { exceeded: 'isExceeded' }))
    svc.add(CallLimits, ledger)
    svc.add(DaemonStarts, { name: 'budget', begin: () => ledger.begin() })
    svc.on('cycle_end', () => ledger.report())
    svc.on('beat', () => ledger.tidy())
    svc.start(() => () => ledger.stop(), { in: ['daemon', 'server', 'mcp', 'cli'] })
  },
  base(svc, config) {
    for (const effect of [bookSpend, ...BUDGET_EFFECTS]) svc.add(Effects, effect.kind)
    budgetForgets(svc)
    for (const operation of [...budgetOperations, budgetSpending]) svc.operation(operation)
    svc.event('budget_exceeded', BudgetExceeded)
    svc.event('budget_tight', BudgetTight)
    svc.event('budget_reset', BudgetReset)
    svc.event('agent_budget_exhausted', AgentBudgetExhausted)
    const isExceeded = () => svc.use(Budget).isExceeded()
    const hasWork: HasWork = async due => ((await isExceeded()) ? idsOf(due) : [])
    for (const phase of ['goal_pursuit', 'goal_generation'] as const)
      svc.guard(phase, { name: 'budget', shouldProceed: async () => !(await isExceeded()) }, { hasWork })
    svc.add(AgentFacets, { name: 'budget', read: agent => agentBudget(svc, agent).catch(() => null) })
    svc.add(DoctorChecks, { name: 'prices', run: () => pricesFinding(svc, config) })
    svc.add(DaemonStatusParts, {
      name: 'budget',
      read: async () => ({ budget: (await svc.use(Budget).status()).message }),
    })
    svc.add(BlockReasons, {
      name: 'budget',
      stage: 40,
      why: async () =>
        (await isExceeded()) ? { reason: (await svc.use(Budget).status()).message, at: null } : undefined,
    })
  },
})
