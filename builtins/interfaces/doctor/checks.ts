import { Models } from '#core/models/contract'
import { Profiles } from '#core/profiles/contract'
import { errorMessage, HostToken, type PluginHandle, type Token } from '#kernel'
import { pluralize } from '#lib/pluralize'
import { Store } from '#platform/store/contract'
import { Budget } from '#safety/budget/contract'
import { Sandbox } from '#safety/sandbox/contract'
import { type DoctorCheck, type DoctorFinding, finding } from './contract.ts'
import { eventCount, failingAgents } from './repository.ts'

const { ok, warn, fail } = finding

/** Number of events above which lists and streams of past events get slow. */
const EVENTS_MOST = 5_000_000

/** Returns the checks that need only the public contracts of other modules. */
export function ownChecks(svc: PluginHandle): DoctorCheck[] {
  return [
    { name: 'default_model', run: () => checkWith(svc, Models, defaultModel) },
    { name: 'profiles', run: () => checkWith(svc, Profiles, profiles) },
    { name: 'agents', run: () => checkWith(svc, Store, agents) },
    { name: 'plugins', run: () => plugins(svc) },
    { name: 'sandbox', run: () => checkWith(svc, Sandbox, sandbox) },
    { name: 'budget', run: () => checkWith(svc, Budget, budget) },
    { name: 'event_log', run: () => checkWith(svc, Store, eventLog) },
  ]
}

/** Runs a check if the service that it needs is available. */
async function checkWith(
  svc: PluginHandle,
  service: Token<unknown>,
  check: (svc: PluginHandle) => Promise<DoctorFinding>,
) {
  return svc.has(service) ? check(svc) : ok('not checked: its module is disabled')
}

/** Checks that the default model can be called: its key is set, its server answers. */
async function defaultModel(svc: PluginHandle) {
  const other = 'choose a model from svc models: svc config set model.default_model <provider:model>'
  const found = await svc
    .use(Models)
    .resolve(null)
    .catch((error: unknown) => fail(errorMessage(error), other))
  if ('level' in found) return found
  const { id, provider, model } = found
  if (provider.notice) return warn(`${id}: ${provider.notice}`, provider.remedy ?? other)
  const { available, reason } = await (provider.reach?.() ?? provider.availability())
  const problem = available ? await provider.explainMissing?.(model) : undefined
  if (problem) return warn(`${id}: ${problem.problem}`, `${problem.remedy}, or ${other}`)
  if (available) return reason ? warn(`${id}: ${reason}`, 'test it with: svc run <agent> "say hello"') : ok(id)
  const missing = /^(\w+) is not set$/.exec(reason ?? '')?.[1]
  const remedy = missing
    ? `export ${missing}=<key> before you start svc (for a systemd service: in .svc/service.env)`
    : 'fix this problem'
  return fail(`${id} is not available: ${reason}`, `${remedy}, or ${other}`)
}

async function profiles(svc: PluginHandle) {
  const all = await svc.use(Profiles).list()
  const bad = all.filter(({ error }) => error !== null)
  if (bad.length > 0)
    return warn(
      bad.map(({ error }) => error).join('; '),
      'correct the profile; until then its agents use the last valid version',
    )
  return all.length > 0
    ? ok(pluralize(all.length, 'preset'))
    : warn('there is no preset', 'write one with: svc new profile <name>')
}

/** Checks whether agents' cycles fail, as with a key that the provider rejects, and why. */
async function agents(svc: PluginHandle) {
  const [first, ...others] = await failingAgents(svc.use(Store))
  if (!first) return ok('no agents are failing')
  const many = others.length === 0 ? '' : `${pluralize(others.length + 1, 'agent')} fail; `
  const failed = `${first.agent_id} failed ${first.failures === 1 ? 'once' : `${first.failures} times in a row`}`
  return warn(`${many}${failed}: ${first.error}`, `see when it tries again: svc why ${first.agent_id}`)
}

/** Checks for failed plugins; plugin files that this process has not run are only counted. */
async function plugins(svc: PluginHandle) {
  const all = svc.use(HostToken).list()
  const foreign = all.filter(({ origin, state }) => origin !== 'builtin' && origin !== 'code' && state !== 'unloaded')
  const [first, ...others] = all.filter(each => {
    const { state, error } = each
    if (state === 'live') return error !== null
    return foreign.includes(each) && (state === 'failed' || state === 'suspended' || error !== null)
  })
  if (first) {
    const many = others.length === 0 ? '' : `${pluralize(others.length + 1, 'plugin')} fail; `
    const failed = `${first.name} is ${first.state}: ${first.error ?? first.last_failure}`
    return warn(`${many}${failed}`, 'for details: svc plugins')
  }
  const [left] = svc.use(HostToken).leftTimers()
  if (left) {
    const started = `${pluralize(left.timers, 'timer')} of the npm package ${left.package} (${left.place})`
    return warn(
      `${started} still run, although the plugin ${left.plugin}, which used the package, was removed`,
      'restart the daemon: svc restart',
    )
  }
  const blockedReason = await svc.use(HostToken).blockedReason()
  if (svc.config.get('plugins.enabled') === true && blockedReason === undefined) return ok(`${foreign.length} live`)
  return ok('plugin files were not run for this check; check one with: svc plugins check <file>')
}

async function sandbox(svc: PluginHandle) {
  const { wall, reason, mode } = await svc.use(Sandbox).status()
  if (wall !== 'none') return ok(reason)
  const remedy = 'install bubblewrap, or leave the shell and git toolkits out of profiles'
  return mode === 'required'
    ? fail(`Programs of agents do not run: tools.sandbox is required, but no sandbox is available: ${reason}`, remedy)
    : warn(`Programs of agents run with your own rights, without a sandbox: ${reason}`, remedy)
}

async function budget(svc: PluginHandle) {
  const { unlimited, exceeded, tight, message, problem } = await svc.use(Budget).status()
  if (problem) return fail(problem, 'repair .svc/budget.json, or reset the counters with: svc budget reset')
  if (exceeded || tight)
    return warn(
      message,
      'raise daemon.budget_usd or daemon.budget_tokens, or reset the counters with: svc budget reset',
    )
  if (!unlimited) return ok(message)
  const used = svc.has(Models) ? await svc.use(Models).inUse() : []
  // A dollar limit has no effect on free models.
  const isFree = used.length > 0 && used.every(({ price }) => price === 'free')
  const limit = isFree ? 'daemon.budget_tokens 1000000' : 'daemon.budget_usd 5'
  return warn('nothing limits what agents spend', `set a limit: svc config set ${limit}`)
}

async function eventLog(svc: PluginHandle) {
  const count = await eventCount(svc.use(Store), EVENTS_MOST)
  const events = pluralize(count, 'event')
  if (count <= EVENTS_MOST) return ok(events)
  return warn(
    events,
    'remove events older than retention.days: svc config set retention.enabled true, then: svc retention run',
  )
}
