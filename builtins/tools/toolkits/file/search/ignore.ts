import picomatch from 'picomatch'

/** Rules of the `.gitignore` files from the root to a folder: https://git-scm.com/docs/gitignore */
export class IgnoreRules {
  readonly #rules: readonly Rule[]

  private constructor(rules: readonly Rule[]) {
    this.#rules = rules
  }

  static readonly none = new IgnoreRules([])

  /**
   * Returns the rules with those of another file added.
   * @param folder the file's folder, relative to the root of the rules; empty for the root
   */
  withRules(text: string, folder: string): IgnoreRules {
    const added = text.split('\n').flatMap(line => ruleOf(line, folder) ?? [])
    return added.length === 0 ? this : new IgnoreRules([...this.#rules, ...added])
  }

  /**
   * Returns whether a path is excluded, decided by the last matching rule. Callers skip the contents of excluded
   * folders.
   */
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
  // A pattern with a slash at the beginning or in the middle is relative to its file's folder.
  const place = pattern.includes('/') ? pattern.replace(/^\//, '') : `**/${pattern}`
  const below = folder === '' ? '' : `${folder.replace(/[\\*?[\]{}()!+@]/g, '\\$&')}/`
  return { matches: picomatch(below + place, { dot: true, nonegate: true }), onlyFolders, negated }
}
