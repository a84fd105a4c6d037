import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers'
import promises from 'node:timers/promises'
import { promisify } from 'node:util'
import type { LeftTimers } from './contract.ts'
import { packageIn } from './packages.ts'
import { PluginTimers } from './plugin-timers.ts'

/** Number of stack frames to inspect: Node's own between a timer and its caller, and the caller. */
const FRAMES = 6
const STARTS = ['setTimeout', 'setInterval', 'setImmediate'] as const
const CLEARS = ['clearTimeout', 'clearInterval', 'clearImmediate'] as const

/** A package that plugins use. */
interface FollowedPackage {
  timers: PluginTimers
  /** Plugin versions that use it now. */
  users: Set<object>
  /** The plugin that used it last, and where the package last started a timer. */
  last: { plugin: string; place: string }
}

/**
 * Timers that npm packages of plugins start. Packages call Node's own functions, so these are replaced for the whole process once
 * a plugin uses a package; the stack shows which package starts a timer. When no plugin uses the package any more, its timers
 * are stopped, unless the program uses it too.
 */
class PackageTimers {
  readonly #packages = new Map<string, FollowedPackage>()
  readonly #owners = new WeakMap<object, PluginTimers>()
  #isFollowing = false

  /**
   * Records that a plugin's version uses these packages.
   * @param user any object that identifies the version
   */
  use(user: object, plugin: string, folders: Iterable<string>): void {
    for (const folder of folders) {
      this.#follow()
      const known = this.#packages.get(folder)
      const each = known ?? { timers: new PluginTimers(), users: new Set(), last: { plugin, place: folder } }
      this.#packages.set(folder, each)
      each.users.add(user)
      each.last.plugin = plugin
      each.timers.open()
    }
  }

  /**
   * Stops the timers of packages that no other version uses.
   * @param shared folders of packages that the program may use
   */
  release(user: object, shared: ReadonlySet<string>): void {
    for (const [folder, { users, timers }] of this.#packages) {
      if (users.delete(user) && users.size === 0 && !shared.has(folder)) timers.close()
    }
  }

  /** Returns running timers of packages that no plugin uses any more. */
  leftTimers(): LeftTimers[] {
    return [...this.#packages].flatMap(([folder, { users, timers, last }]) => {
      const isLeft = users.size === 0 && timers.activeCount > 0
      return isLeft ? [{ ...last, package: folder.replace(/^.*\/node_modules\//, ''), timers: timers.activeCount }] : []
    })
  }

  #follow(): void {
    if (this.#isFollowing) return
    this.#isFollowing = true
    const native = { ...timers }
    const nativePromises = { ...promises }
    const starts = STARTS.map(name => {
      const start = (...given: unknown[]) => {
        const own = this.#caller()
        const timer = Reflect.apply(own?.globals[name] ?? native[name], undefined, given) as object
        if (own) this.#owners.set(timer, own)
        return timer
      }
      const wait = (...given: never[]) => {
        const fn = Reflect.get(this.#caller()?.globals[name] ?? native[name], promisify.custom)
        return Reflect.apply(fn as () => unknown, undefined, given)
      }
      return [name, promisify.custom in native[name] ? Object.assign(start, { [promisify.custom]: wait }) : start]
    })
    const clears = CLEARS.map(name => {
      const clear = (timer: unknown) => {
        const own = typeof timer === 'object' && timer !== null ? this.#owners.get(timer) : undefined
        Reflect.apply(own?.globals[name] ?? native[name], undefined, [timer])
      }
      return [name, clear]
    })
    const waits = STARTS.map(name => {
      const wait = (...given: never[]) => {
        const own = this.#caller()?.promises ?? nativePromises
        return Reflect.apply(own[name] as () => unknown, undefined, given)
      }
      return [name, wait]
    })
    const replaced = Object.fromEntries([...starts, ...clears])
    Object.assign(globalThis, replaced)
    Object.assign(timers, replaced)
    Object.assign(promises, Object.fromEntries(waits))
    syncBuiltinESMExports()
  }

  /** Returns the timers of the package whose code starts a timer now; undefined for other code. */
  #caller(): PluginTimers | undefined {
    // The first frame is the function that replaces Node's.
    const frame = framesOf(this.#caller)
      .slice(1)
      .find(each => !each.getFileName()?.startsWith('node:'))
    const folder = packageIn(frame?.getFileName() ?? '')
    const followed = folder === undefined ? undefined : this.#packages.get(folder)
    if (followed) followed.last.place = `${frame?.getFileName()}:${frame?.getLineNumber()}`.replace(/^file:\/\//, '')
    return followed?.timers
  }
}

/** Returns the frames above a function, innermost first. Formatting them as text would take a hundred times as long. */
function framesOf(above: () => unknown): NodeJS.CallSite[] {
  const { stackTraceLimit, prepareStackTrace } = Error
  const at: { stack?: NodeJS.CallSite[] } = {}
  Error.stackTraceLimit = FRAMES
  Error.prepareStackTrace = (_, frames) => frames
  Error.captureStackTrace(at, above)
  const { stack = [] } = at
  Object.assign(Error, { stackTraceLimit, prepareStackTrace })
  return stack
}

/** The only instance, because it replaces globals of the process. */
export const packageTimers = new PackageTimers()
