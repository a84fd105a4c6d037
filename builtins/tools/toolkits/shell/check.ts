import { join, normalize, relative } from 'node:path'
import { type Jail, type Reach, ReadOnlyError } from '#safety/sandbox/contract'
import { CommandError } from './contract.ts'
import { DEV_COMMANDS, RULES, type Rule } from './rules.ts'

export interface Place {
  jail: Pick<Jail, 'resolve' | 'closedPaths'>
  reach: Reach
  /** Real path of the folder in which the command runs. */
  cwd: string
  /** Whether the command runs in a sandbox, where closed folders are invisible. */
  sandboxed: boolean
}

/** Programs that may run: those with rules, also development programs, or any. */
export type Allowed = 'restricted' | 'development' | 'any'

/** A checked command, ready to run. */
export interface Checked {
  argv: readonly [string, ...string[]]
  env: Readonly<Record<string, string>>
}

/**
 * Checks a command against the rules of its program: only known safe options, and paths that, with all links resolved,
 * lie inside the workspace.
 * @throws CommandError, OutsideError, PathError
 */
export async function checkWords(words: readonly string[], allowed: Allowed, place: Place): Promise<Checked> {
  const [name = '', ...args] = words
  const rule = Object.hasOwn(RULES, name) ? RULES[name] : undefined
  if (rule) return new Check(name, rule, place).all(args)
  if (name === 'cd') throw new CommandError({ problem: 'each command runs on its own; give the folder as `cwd`' })
  refuseUnknown(name, allowed)
  return { argv: [allowed === 'any' ? await programIn(place, name) : name, ...args], env: {} }
}

/** @throws CommandError for a program that is not allowed */
export function refuseUnknown(name: string, allowed: Allowed): void {
  if (allowed === 'any' || Object.hasOwn(RULES, name)) return
  if (!DEV_COMMANDS.includes(name)) throw new CommandError({ problem: unknown(name, allowed === 'development') })
  if (allowed === 'development') return
  const problem = `${name} can run any code, and there is no sandbox; the operator can install bubblewrap, set approval.enabled, or set tools.shell_allow_dev_commands`
  throw new CommandError({ problem })
}

/**
 * Resolves a program given by a relative path, which must be within reach and exist; other names are returned unchanged.
 * @throws CommandError, OutsideError, PathError
 */
async function programIn({ jail, reach, cwd }: Place, name: string): Promise<string> {
  if (!name.includes('/') || name.startsWith('/')) return name
  const { real, exists } = await jail.resolve(reach, join(cwd, name))
  if (!exists) throw new CommandError({ problem: `the file ${JSON.stringify(name)} does not exist in ${cwd}` })
  return real
}

function unknown(name: string, dev: boolean): string {
  const known = [...Object.keys(RULES), ...(dev ? DEV_COMMANDS : [])].join(' ')
  return `${JSON.stringify(name.slice(0, 100))} is not an allowed program. Allowed programs: ${known}`
}

class Check {
  readonly #name: string
  readonly #rule: Rule
  readonly #place: Place
  /** Whether an option gave the text, so that the first remaining argument is a path. */
  #given = false
  readonly #rest: string[] = []
  /** Real paths of the arguments. */
  readonly #reached: string[] = []

  constructor(name: string, rule: Rule, place: Place) {
    this.#name = name
    this.#rule = rule
    this.#place = place
  }

  async all(args: readonly string[]): Promise<Checked> {
    const { rest, forced = [], env = {}, bare } = this.#rule
    if (rest === 'expression') return { argv: [this.#name, ...(await this.#expression(args))], env }
    const options = await this.#options(args)
    const given: string[] = []
    for (const [n, arg] of this.#rest.entries()) given.push(await this.#other(arg, n))
    if (!this.#place.sandboxed && (this.#name === 'mv' || options.some(option => this.#isDeep(option))))
      await this.#refuseClosed()
    const end = bare ? [] : ['--']
    return { argv: [this.#name, ...(process.platform === 'linux' ? forced : []), ...options, ...end, ...given], env }
  }

  /** Returns the checked options; other arguments are collected in `#rest`. */
  async #options(args: readonly string[]): Promise<string[]> {
    const options: string[] = []
    for (let at = 0; at < args.length; at++) {
      const arg = args[at]!
      if (arg === '--' || this.#rule.rest === 'format, texts') {
        if (arg !== '--') this.#rest.push(arg)
        this.#rest.push(...args.slice(at + 1))
        break
      }
      if (arg === '-' || !arg.startsWith('-')) this.#rest.push(arg)
      else if (arg.startsWith('--')) options.push(await this.#long(arg, () => args[++at]))
      else options.push(...(await this.#short(arg, () => args[++at])))
    }
    return options
  }

  async #long(arg: string, next: () => string | undefined): Promise<string> {
    const [, name = '', , value] = /^--([^=]*)(=([\s\S]*))?$/.exec(arg) ?? []
    const { long = {} } = this.#rule
    const kind = Object.hasOwn(long, name) ? long[name] : undefined
    if (kind === undefined || (kind === null && value !== undefined)) return this.#refuse(arg)
    if (kind === null) return `--${name}`
    if (name === 'regexp') this.#given = true
    return `--${name}=${await this.#value(kind, value ?? next(), arg)}`
  }

  /** Splits combined short options, such as -rf, into single ones. */
  async #short(arg: string, next: () => string | undefined): Promise<string[]> {
    const { flags = '', values = {}, counts, instead } = this.#rule
    if (counts && /^-\d+$/.test(arg)) return [arg]
    const options: string[] = []
    for (let at = 1; at < arg.length; at++) {
      const letter = arg[at]!
      if (flags.includes(letter)) {
        options.push(`-${letter}`)
        continue
      }
      const kind = Object.hasOwn(values, letter) ? values[letter]! : this.#refuse(`-${letter}`)
      if (letter === instead) this.#given = true
      const value = await this.#value(kind, arg.slice(at + 1) || next(), `-${letter}`)
      return [...options, `-${letter}${value}`]
    }
    return options
  }

  async #value(kind: 'text' | 'path', value: string | undefined, option: string): Promise<string> {
    if (value === undefined || value === '') throw new CommandError({ problem: `${option} needs a value` })
    return kind === 'path' ? this.#path(value) : value
  }

  #other(arg: string, n: number): string | Promise<string> {
    const { rest, forbidden, bare } = this.#rule
    if (bare && arg.startsWith('-')) return this.#refuse(arg)
    if (forbidden?.test(arg)) {
      throw new CommandError({ problem: `${this.#name} does not allow import or include here` })
    }
    if (rest === 'texts' || rest === 'format, texts' || (rest === 'text, paths' && n === 0 && !this.#given)) return arg
    if (rest === 'names' && /^[\w.+-]+$/.test(arg)) return arg
    if (rest === 'formats' && arg.startsWith('+')) return arg
    if (rest === 'names' || rest === 'formats') return this.#refuse(arg)
    return arg === '-' ? arg : this.#path(arg)
  }

  /**
   * Checks the arguments of `test`, which reveals whether files exist: possible paths must be in the workspace. `echo`
   * may print anything.
   */
  async #expression(args: readonly string[]): Promise<string[]> {
    if (this.#name === 'echo') return [...args]
    return Promise.all(args.map(arg => (/^(-\w+|!?=|==|!|\(|\))?$/.test(arg) ? arg : this.#path(arg))))
  }

  /** Checks a path, and returns it in a spelling that the program resolves as the check did. */
  async #path(path: string): Promise<string> {
    const { jail, reach, cwd } = this.#place
    // Removes ".." textually first, because the system would apply it to the target of a link.
    const plain = normalize(path)
    const { real, folder, access } = await jail.resolve(reach, plain.startsWith('/') ? plain : join(cwd, plain))
    const below = relative(folder, real)
    if (this.#rule.changes && access === 'read-only') throw new ReadOnlyError({ path, folder, reach })
    this.#reached.push(real)
    if (this.#rule.changes && below.split('/').some(name => name.toLowerCase() === '.git')) {
      throw new CommandError({
        problem: `${JSON.stringify(path)} is internal data of git; use the git tools to change it`,
      })
    }
    if (below === '' && this.#name === 'rm') {
      throw new CommandError({ problem: 'your whole workspace cannot be removed; name the files and folders in it' })
    }
    return plain
  }

  /** Returns whether an option makes the program work on whole folders, as `mv` always does. */
  #isDeep(option: string): boolean {
    const { deep = '' } = this.#rule
    return option === '--recursive' || (option.length === 2 && deep.includes(option[1]!))
  }

  /** Refuses folders that contain closed paths, which only a sandbox hides, or given folders that a change would move or remove. */
  async #refuseClosed(): Promise<void> {
    const { jail, reach, cwd } = this.#place
    const given = this.#rule.changes ? (reach.folders ?? []).map(({ path }) => path) : []
    const closed = [...(await jail.closedPaths(reach)), ...given]
    const reached = this.#reached.length > 0 ? this.#reached : [cwd]
    const met = closed.find(path => reached.some(folder => path.startsWith(`${folder}/`)))
    if (!met) return
    const what = given.includes(met) ? 'which is a folder of its own' : 'which you may not access'
    throw new CommandError({ problem: `the command would reach ${met}, ${what}; name the folders beside it` })
  }

  #refuse(arg: string): never {
    const { flags = '', values = {}, long = {} } = this.#rule
    const known = [
      ...[...flags, ...Object.keys(values)].map(letter => `-${letter}`),
      ...Object.keys(long).map(name => `--${name}`),
    ]
    const takes = known.length > 0 ? `takes these options: ${known.join(' ')}` : 'takes no options'
    throw new CommandError({
      problem: `${this.#name} does not take ${JSON.stringify(arg.slice(0, 100))} here; it ${takes}`,
    })
  }
}
