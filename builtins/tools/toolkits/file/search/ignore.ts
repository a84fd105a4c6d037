import picomatch from 'picomatch'

/** What the `.gitignore` files on the way to a folder exclude: https://git-scm.com/docs/gitignore */
export class IgnoreRules {
  readonly #rules: readonly Rule[]

  private constructor(rules: readonly Rule[]) {
    this.#rules = rules
  }

  static readonly none = new IgnoreRules([])

  /** Adds the rules of a file. @param folder that holds the file, relative to where the rules began; empty for that one */
  withRules(text: string, folder: string): IgnoreRules {
    const added = text.split('\n').flatMap(line => ruleOf(line, folder) ?? [])
    return added.length === 0 ? this : new IgnoreRules([...this.#rules, ...added])
  }

  /** Whether a path is excluded: the last rule that matches decides. What lies in an excluded folder is not asked about. */
  excludes(path: string, isFolder: boolean): boolean {
    const last = this.#rules.findLast(rule => (isFolder || !rule.onlyFolders) && rule.matches(path))
    return last !== undefined && !last.negated
  }
}

interface Rule {
  matches(path: string): boolean
  onlyFolders: boolean
  negated: boolean
}

function ruleOf(line: string, folder: string): Rule | undefined {
  const text = line.replace(/\r$/, '').replace(/(?<!\\)\s+$/, '')
  if (text === '' || text.startsWith('#')) return undefined
  const negated = text.startsWith('!')
  const body = text.slice(negated ? 1 : 0)
  const onlyFolders = body.endsWith('/')
  const pattern = body.replace(/\/$/, '')
  // A slash at the beginning or in the middle binds a pattern to the folder of its file.
  const place = pattern.includes('/') ? pattern.replace(/^\//, '') : `**/${pattern}`
  const below = folder === '' ? '' : `${folder.replace(/[\\*?[\]{}()!+@]/g, '\\$&')}/`
  return { matches: picomatch(below + place, { dot: true, nonegate: true }), onlyFolders, negated }
}
