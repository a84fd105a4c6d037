import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { type CallLimit, CallLimits, type CallPurpose, holdAll, ModelProviders } from '#core/models/contract'
import type { Kernel, PluginHandle, Ports } from '#kernel'
import { keyedIds, keyedRandom } from '#lib/keyed-random'
import { OpenerToken } from '#lib/opener'
import { type Trial, TrialFolderError, type TrialOptions } from './contract.ts'

/** In the project's own books a call of a trial belongs to none of its agents. */
const ELSEWHERE: CallPurpose = { agent_id: null, goal_id: null, cycle_num: 0, kind: 'other' }

/** Makes the folder, opens a kernel in it, and ties its models and its bills to the project's. */
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

/** Its configuration, with the project's models and prices, and what it begins with. */
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
  // JSON is YAML too.
  await files.writeFile(join(root, '.svc', 'config.yaml'), `${JSON.stringify(all, null, 2)}\n`, { mode: 0o600 })
  const prices = join(svc.project.root, 'models.yaml')
  await files.copyFile(prices, join(root, 'models.yaml')).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  for (const [path, text] of Object.entries(given)) {
    await files.mkdir(dirname(join(root, path)), { recursive: true })
    await files.writeFile(join(root, path), text)
  }
}

/** The machine's ports; randomness and ids by the seed. What the environment configures is for the project, but for its models. */
function portsOf({ ports, config }: PluginHandle, { seed, clock }: TrialOptions): Partial<Ports> {
  const foreign = new Set(config.keys().flatMap(({ path, env }) => (env && !path.startsWith('model.') ? [env] : [])))
  const env = Object.fromEntries(Object.entries(ports.env).filter(([name]) => !foreign.has(name)))
  const random = keyedRandom(seed)
  const { files, fetch, spawn } = ports
  return { files, fetch, spawn, env, random, ids: keyedIds(random), clock: clock ?? ports.clock }
}

/** Its models are the project's, those of plugins too, and so are its bills. */
function tie(svc: PluginHandle, kernel: Kernel): void {
  for (const { value } of svc.contributions(ModelProviders)) {
    if (!kernel.points.find(ModelProviders, value.name)) kernel.points.add(ModelProviders, value, svc.name)
  }
  // With the same seed another trial has calls of the same ids, which are to be paid too.
  const trial = svc.ports.ids.make('trial', 12)
  const ours = <C extends { call_id: string }>(call: C) => {
    return { ...call, call_id: `${trial}:${call.call_id}` }
  }
  /** `model` is `provider:model`, or `sim/rules-1`. One that a person gave a price counts, simulated or not. */
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
