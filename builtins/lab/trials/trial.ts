import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { type CallLimit, CallLimits, type CallPurpose, holdAll, ModelProviders } from '#core/models/contract'
import type { Kernel, PluginHandle, Ports } from '#kernel'
import { keyedIds, keyedRandom } from '#lib/keyed-random'
import { OpenerToken } from '#lib/opener'
import { unlessMissing } from '#lib/unless-code'
import { type Trial, TrialFolderError, type TrialOptions } from './contract.ts'

/** In the project's budget, a call of a trial belongs to no agent. */
const ELSEWHERE: CallPurpose = { agent_id: null, goal_id: null, cycle_num: 0, kind: 'other' }

/** Creates the folder, opens a kernel in it, and connects its models and costs to the project. */
export async function openTrial(svc: PluginHandle, options: TrialOptions): Promise<Trial> {
  const { files } = svc.ports
  const root = await folderOf(svc, options.keep)
  const leave = async () => {
    if (options.keep === undefined) await files.rm(root, { recursive: true, force: true })
  }
  try {
    await prepareProject(svc, root, options)
    const ports = portsOf(svc, options)
    const log = { level: 'error', write: (line: string) => complain(svc, line) }
    const kernel = await svc.use(OpenerToken).open({ root, roles: options.roles ?? ['cli'], ports, log })
    tie(svc, kernel)
    const close = async () => {
      await kernel.close()
      await leave()
    }
    return { kernel, root, ports: kernel.ports, close, [Symbol.asyncDispose]: close }
  } catch (error) {
    await leave()
    throw error
  }
}

async function folderOf({ ports: { files } }: PluginHandle, keep: string | undefined): Promise<string> {
  if (keep === undefined) return files.mkdtemp(join(tmpdir(), 'svc-trial-'))
  const root = resolve(keep)
  await files.mkdir(root, { recursive: true })
  if ((await files.readdir(root)).length > 0) throw new TrialFolderError({ folder: root })
  return root
}

/** Writes the trial's configuration, with the project's models and prices, and its initial files. */
async function prepareProject(
  svc: PluginHandle,
  root: string,
  { config, files: given = {} }: TrialOptions,
): Promise<void> {
  const { files } = svc.ports
  const { model } = svc.config.tree('persisted')
  const own = config.model as Record<string, unknown> | undefined
  const all = { ...config, model: { ...(model as Record<string, unknown> | undefined), ...own } }
  await files.mkdir(join(root, '.svc'), { recursive: true, mode: 0o700 })
  // JSON is valid YAML.
  await files.writeFile(join(root, '.svc', 'config.yaml'), `${JSON.stringify(all, null, 2)}\n`, { mode: 0o600 })
  const prices = join(svc.project.root, 'models.yaml')
  await files.copyFile(prices, join(root, 'models.yaml')).catch(unlessMissing)
  for (const [path, text] of Object.entries(given)) {
    await files.mkdir(dirname(join(root, path)), { recursive: true })
    await files.writeFile(join(root, path), text)
  }
}

/**
 * Returns the machine's ports, with randomness and ids from the seed. Environment variables that configure the project
 * are removed, except those for models.
 */
function portsOf({ ports, config }: PluginHandle, { seed, clock }: TrialOptions): Partial<Ports> {
  const foreign = new Set(config.keys().flatMap(({ path, env }) => (env && !path.startsWith('model.') ? [env] : [])))
  const env = Object.fromEntries(Object.entries(ports.env).filter(([name]) => !foreign.has(name)))
  const random = keyedRandom(seed)
  const { files, fetch, spawn } = ports
  return { files, fetch, spawn, env, random, ids: keyedIds(random), clock: clock ?? ports.clock }
}

/** Gives the trial the project's models, including those of plugins, and books its costs in the project. */
function tie(svc: PluginHandle, kernel: Kernel): void {
  for (const { value } of svc.contributions(ModelProviders)) {
    if (!kernel.points.find(ModelProviders, value.name)) kernel.points.add(ModelProviders, value, svc.name)
  }
  // Another trial with the same seed has the same call ids, so they are prefixed to be booked separately.
  const trial = svc.ports.ids.make('trial', 12)
  const ours = <C extends { call_id: string }>(call: C) => {
    return { ...call, call_id: `${trial}:${call.call_id}` }
  }
  /**
   * Returns the purpose of a call. `model` is `provider:model`, or `sim/rules-1`. A model with a configured price
   * counts, simulated or not.
   */
  const purposeOf = (call: { model: string; priced: string } | null): CallPurpose => {
    if (call?.priced !== 'free') return ELSEWHERE
    const provider = svc.find(ModelProviders, call.model.split(/[:/]/, 1)[0]!)
    return provider?.simulated ? { ...ELSEWHERE, is_simulated: true } : ELSEWHERE
  }
  const limit: CallLimit = {
    name: 'project',
    async hold(call) {
      await holdAll(svc, { ...ours(call), purpose: purposeOf(call) })
    },
    async unbilled(call) {
      for (const each of svc.list(CallLimits)) await each.unbilled?.({ ...ours(call), purpose: purposeOf(call) })
    },
    async settle(call) {
      const spend = call.spend && ours(call.spend)
      const purpose = purposeOf(spend)
      for (const each of svc.list(CallLimits)) await each.settle({ ...ours(call), purpose, spend })
    },
  }
  kernel.points.add(CallLimits, limit, svc.name)
}

function complain(svc: PluginHandle, line: string): void {
  const { msg } = JSON.parse(line) as { msg?: string }
  svc.log.warn({}, `in a trial: ${msg}`)
}
