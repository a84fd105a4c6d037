import { join, resolve } from 'node:path'
import { errorMessage, type Issue, type PluginHandle } from '#kernel'
import { displayPath, PACKAGE_ROOT } from '#lib/package-root'
import { type Profile, ProfileNotFoundError, type Profiles, ToolNames } from './contract.ts'
import { FileCache } from './file-cache.ts'
import { type ParsedProfile, parseProfile } from './profile.ts'

/** Time for which all agents reuse a profile without checking its file, in milliseconds. */
const FRESH_MS = 1_000
const MAX_PROFILE_BYTES = 1024 * 1024
/** Maximum size of a skill, in bytes. Skills are part of every prompt of their agents. */
const MAX_SKILL_BYTES = 64 * 1024

/** Presets of the project, then those of the package; and skills that are single files. */
export class ProfileFiles implements Profiles {
  readonly #svc: PluginHandle
  readonly #profiles: FileCache<Profile>
  readonly #skills: FileCache<string>
  readonly #lastGood = new Map<string, Profile>()
  readonly #warned = new Map<string, unknown>()
  /** What is known of a profile's file besides its values. */
  readonly #sources = new WeakMap<Profile, Omit<ParsedProfile, 'profile'>>()
  /** When each profile was last checked on disk, on the monotonic clock. */
  readonly #checkedAt = new Map<string, number>()

  /** @param dir the folder of the profiles, relative to the project; empty for `profiles/` and the packaged ones */
  constructor(svc: PluginHandle, dir: string) {
    this.#svc = svc
    const { root } = svc.project
    const common = { ports: svc.ports, show: (path: string) => displayPath(path, root) }
    this.#profiles = new FileCache({
      ...common,
      folders: dir ? [resolve(root, dir)] : [join(root, 'profiles'), join(PACKAGE_ROOT, 'profiles')],
      extensions: ['.yaml', '.yml'],
      max_bytes: MAX_PROFILE_BYTES,
      parse: (text, file) => {
        const { profile, ...source } = parseProfile(file.shown, text, file.name, modelDefaults(svc))
        this.#sources.set(profile, source)
        for (const { path, message } of this.#faultsOf(profile, file.shown)) svc.log.warn({}, `${path}: ${message}`)
        return profile
      },
    })
    this.#skills = new FileCache({
      ...common,
      folders: [join(root, 'skills')],
      extensions: ['.md'],
      max_bytes: MAX_SKILL_BYTES,
      parse: text => text.trim(),
    })
  }

  async read(name: string): Promise<Profile> {
    const profile = await this.#profiles.read(name)
    if (!profile) throw new ProfileNotFoundError({ name, known: (await this.#profiles.list()).map(([known]) => known) })
    this.#lastGood.set(name, profile)
    this.#warned.delete(name)
    return profile
  }

  async get(name: string): Promise<Profile> {
    const now = this.#svc.clock.monotonic()
    const profile = await this.#get(name)
    this.#checkedAt.set(name, now)
    return profile
  }

  /** Returns the profile if it was checked recently; undefined otherwise. */
  cachedProfile(name: string): Profile | undefined {
    const checkedAt = this.#checkedAt.get(name)
    const isFresh = checkedAt !== undefined && this.#svc.clock.monotonic() - checkedAt < this.#freshFor
    return isFresh ? this.#lastGood.get(name) : undefined
  }

  /**
   * Time for which a check stays valid, in milliseconds: at most one heartbeat, so that cycles in between need no disk
   * access.
   */
  get #freshFor(): number {
    return Math.min(FRESH_MS, Number(this.#svc.config.get('daemon.heartbeat')) * 1000)
  }

  async #get(name: string): Promise<Profile> {
    try {
      return await this.read(name)
    } catch (error) {
      const good = this.#lastGood.get(name)
      if (!good) throw error
      const fault = error instanceof ProfileNotFoundError ? 'gone' : error
      this.#warnOnce(name, fault, `the last valid copy of profile "${name}" stays in use: ${errorMessage(error)}`)
      return good
    }
  }

  async skills({ name, skills }: Profile): Promise<string> {
    const texts = await Promise.all(skills.map(skill => this.#skillOf(name, skill)))
    return texts.filter(Boolean).join('\n\n')
  }

  /** Reads a skill. A missing or invalid one is skipped. */
  async #skillOf(profile: string, skill: string): Promise<string | undefined> {
    try {
      const text = await this.#skill(skill)
      if (text !== undefined) {
        const remedy = `give it front matter and move it to skills/${skill.replaceAll('_', '-')}/SKILL.md`
        const sentence = `profile "${profile}" names skills/${skill}.md, a format that is supported for one more version only; ${remedy}`
        this.#warnOnce(`skills/${skill}`, 'earlier form', sentence)
      }
      return text
    } catch (error) {
      this.#warnOnce(`skills/${skill}`, error, `the skill "${skill}" is not used: ${errorMessage(error)}`)
      return undefined
    }
  }

  async names(): Promise<string[]> {
    return (await this.#profiles.list()).map(([name]) => name)
  }

  async list() {
    const found = await this.#profiles.list()
    return Promise.all(
      found.map(async ([name, file]) => {
        const shown = file instanceof Error ? '' : file.shown
        try {
          return { name, file: shown, profile: await this.read(name), error: null }
        } catch (error) {
          return { name, file: shown, profile: null, error: errorMessage(error) }
        }
      }),
    )
  }

  /**
   * Returns the problems of presets: unreadable files, unknown keys, and names of toolkits and tools that do not exist.
   */
  async faults(): Promise<Issue[]> {
    return (await this.list()).flatMap(({ name, profile, file, error }) =>
      profile ? this.#faultsOf(profile, file) : [{ path: file || name, message: error ?? 'cannot be read' }],
    )
  }

  #faultsOf(profile: Profile, file: string): Issue[] {
    const { unknown = [], lineOf } = this.#sources.get(profile) ?? {}
    if (!this.#svc.has(ToolNames)) return unknown
    const names = this.#svc.use(ToolNames)
    const ofTools = (['toolkits', 'core', 'tools'] as const).flatMap(key => {
      const line = lineOf?.([key])
      const path = line === undefined ? file : `${file}:${line}`
      return names
        .unknownNames(key === 'tools' ? 'tool' : 'toolkit', profile[key] ?? [])
        .map(fault => ({ path, message: `${key} ${fault}` }))
    })
    return [...unknown, ...ofTools]
  }

  /** Returns a skill's text. `-` and `_` in its name are equivalent. */
  async #skill(name: string): Promise<string | undefined> {
    for (const spelling of new Set([name, name.replaceAll('_', '-'), name.replaceAll('-', '_')])) {
      const text = await this.#skills.read(spelling)
      if (text !== undefined) return text
    }
    return undefined
  }

  #warnOnce(what: string, fault: unknown, sentence: string): void {
    if (this.#warned.get(what) === fault) return
    this.#warned.set(what, fault)
    this.#svc.log.warn({}, sentence)
  }
}

/** Returns the model defaults for profiles that omit them, if the module of the models is installed. */
function modelDefaults({ config }: PluginHandle): Partial<Pick<Profile, 'max_tokens' | 'temperature'>> {
  const [max_tokens, temperature] = [config.get('model.max_tokens'), config.get('model.temperature')]
  return {
    ...(typeof max_tokens === 'number' ? { max_tokens } : {}),
    ...(typeof temperature === 'number' ? { temperature } : {}),
  }
}
