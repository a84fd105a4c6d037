import { join, relative, resolve, sep } from 'node:path'
import { errorMessage, type PluginHandle, token } from '#kernel'
import { displayPath, PACKAGE_ROOT } from '#lib/package-root'
import { readRegular } from '#lib/regular'
import { BadFileError } from '#lib/yaml'
import { type Skill, SkillFolders, SkillNotFoundError } from './contract.ts'
import { parseSkill } from './parse.ts'

const FILE = 'SKILL.md'
const MAX_BYTES = 64 * 1024
/** Maximum number of skills in one folder. */
const MAX_SKILLS = 200
/** Maximum number of files in one skill. */
const MAX_FILES = 100

export interface FoundSkill extends Skill {
  /** Real path of the skill's folder. */
  folder: string
  body: string
}

interface Place {
  source: Skill['source']
  folder: string
}

/** Skill files, for the operations of this module. */
export const OwnSkillFiles = token<SkillFiles>('skills/files')

/** Finds skills, those of earlier sources first. Caches each file until it changes. */
export class SkillFiles {
  readonly #svc: PluginHandle
  readonly #known = new Map<string, { stamp: string | undefined; found: FoundSkill }>()

  constructor(svc: PluginHandle) {
    this.#svc = svc
  }

  /**
   * Lists all skills.
   * @param workspace a folder of the operator that an agent works in
   */
  async list(workspace?: string): Promise<FoundSkill[]> {
    const all = (await Promise.all(this.#places(workspace).map(place => this.#in(place)))).flat()
    return all.map(skill => {
      const first = all.find(other => other.name === skill.name && other.error === null)
      return { ...skill, shadowed_by: !first || first === skill ? null : first.file }
    })
  }

  /**
   * Returns the skill with this name.
   * @throws SkillNotFoundError, BadFileError
   */
  async find(name: string, workspace?: string): Promise<FoundSkill> {
    const all = await this.list(workspace)
    const same = all.filter(skill => skill.name === name)
    const usable = same.find(({ error, shadowed_by }) => error === null && shadowed_by === null)
    if (usable) return usable
    const bad = same[0]
    if (bad) throw new BadFileError({ file: bad.file, problem: bad.error ?? 'cannot be used' })
    throw new SkillNotFoundError({ name, known: [...new Set(all.map(each => each.name))] })
  }

  /** Returns the files of a skill besides SKILL.md, relative to its folder; links are left out. */
  async filesOf({ folder }: FoundSkill): Promise<string[]> {
    const entries = await this.#svc.ports.files.readdir(folder, { recursive: true, withFileTypes: true })
    const paths = entries
      .filter(entry => entry.isFile())
      .map(entry => relative(folder, join(entry.parentPath, entry.name)))
    return paths
      .filter(path => path !== FILE)
      .sort()
      .slice(0, MAX_FILES)
  }

  #places(workspace: string | undefined): Place[] {
    const { ports, project } = this.#svc
    const { root } = project
    const own = ['skills', '.agents/skills'].map((name): Place => ({ source: 'project', folder: join(root, name) }))
    const home = ports.env.HOME
    const all: Place[] = [
      ...own,
      ...(workspace ? [{ source: 'folder' as const, folder: join(workspace, '.agents/skills') }] : []),
      ...(home ? [{ source: 'user' as const, folder: join(resolve(home), '.agents/skills') }] : []),
      ...this.#svc.list(SkillFolders).map(({ folder }): Place => ({ source: 'plugin', folder })),
      { source: 'package', folder: join(PACKAGE_ROOT, 'profiles/skills') },
    ]
    return all.filter(({ folder }, n) => all.findIndex(other => other.folder === folder) === n)
  }

  async #in({ source, folder }: Place): Promise<FoundSkill[]> {
    const { files } = this.#svc.ports
    const entries = await files.readdir(folder).catch(() => [])
    const names = entries.filter(name => !/[.~]/.test(name)).sort()
    const found = await Promise.all(names.slice(0, MAX_SKILLS).map(name => this.#read(source, folder, name)))
    return found.filter(skill => skill !== undefined)
  }

  async #read(source: Skill['source'], place: string, name: string): Promise<FoundSkill | undefined> {
    const { files, stampOf } = this.#svc.ports
    const path = join(place, name, FILE)
    const stamp = stampOf(path)
    if (stamp === undefined) return undefined
    const known = this.#known.get(path)
    if (known?.stamp === stamp) return known.found
    const file = displayPath(path, this.#svc.project.root)
    const bare = { name, description: '', license: null, allowed_tools: null, metadata: {}, body: '' }
    const common = { source, file, shadowed_by: null, folder: join(place, name) }
    let found: FoundSkill
    try {
      const folder = await files.realpath(join(place, name))
      const [top, real] = await Promise.all([files.realpath(place), files.realpath(path)])
      const bad = (problem: string, remedy: string) => new BadFileError({ file, problem, remedy })
      // An agent may have made the folder of skills in its working folder a link to files that it cannot reach.
      const isElsewhere = source === 'folder' && !top.startsWith(`${resolve(place, '../..')}/`)
      if (isElsewhere || !folder.startsWith(top + sep) || !real.startsWith(folder + sep))
        throw bad('is reached by a link to a location outside the folder of skills', 'copy the skill here instead')
      if (Number(stamp.slice(stamp.lastIndexOf(':') + 1)) > MAX_BYTES)
        throw bad(`is larger than ${MAX_BYTES / 1024} KiB`, 'move parts of it to other files in the same folder')
      const text = (await readRegular(files, real)).toString('utf8').replace(/^\uFEFF/, '')
      found = { ...common, ...parseSkill(file, text, name), error: null, folder }
    } catch (error) {
      found = { ...common, ...bare, error: errorMessage(error) }
    }
    this.#known.set(path, { stamp, found })
    return found
  }
}
