import type { TestHost } from './test-host.ts'

/**
 * Kinds of operating-system handles. Others that Node lists (timers of the test runner, requests) come and go, as do
 * file watches, which belong to the kernel.
 */
const HANDLE = /^(?!FSEvent).*(Wrap|Worker|ChildProcess)$/

/** Counts everything that a test host holds, by name, to identify leaks. */
export class LeakLedger {
  readonly #host: TestHost
  readonly #before: ReadonlyMap<string, number>

  constructor(host: TestHost) {
    this.#host = host
    this.#before = inventory(host)
  }

  /** Returns what is held now but was not when the ledger was opened, one line each; empty when nothing leaks. */
  diff(): string[] {
    return [...inventory(this.#host)].flatMap(([name, count]) => {
      const more = count - (this.#before.get(name) ?? 0)
      return more > 0 ? [more === 1 ? name : `${name} (${more} times)`] : []
    })
  }
}

/** Opens a ledger of what the test host holds now. */
export function leakLedger(host: TestHost): LeakLedger {
  return new LeakLedger(host)
}

function inventory({ kernel, clock }: TestHost): Map<string, number> {
  const { hooks, points, services, config, host } = kernel
  const held = [
    ...hooks.names().flatMap(name => hooks.get(name).taps.map(tap => `tap of ${name}: ${tap.name}`)),
    ...[...hooks.events().keys()].map(name => `event ${name}`),
    ...[...points.all()].flatMap(([name, all]) => all.map(({ key, owner }) => `${name}: ${key} of ${owner}`)),
    ...services.list().map(({ name, owner }) => `service ${name} of ${owner}`),
    ...config.keys().map(({ path, owner }) => `config key ${path} of ${owner}`),
    ...host.list().flatMap(({ name, registered }) => registered.map(label => `scope of ${name}: ${label}`)),
    ...Array.from({ length: clock.pending }, () => 'timer'),
    ...process.getActiveResourcesInfo().filter(kind => HANDLE.test(kind)),
  ]
  const counts = new Map<string, number>()
  for (const name of held) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}
