import { isMap } from 'yaml'
import { z } from 'zod'
import { ConflictError, InvalidInputError, type Issue, type SvcError } from './errors.ts'
import { issuesOf } from './operations.ts'
import type { Ports } from './ports.ts'
import type { Undo } from './scope.ts'
import { BadFileError, isForbiddenKey, readYaml, replaceFile, type YamlFile } from './yaml.ts'

/** What a key's `.meta(…)` may say beside zod's own fields. */
export interface KeyMeta {
  /** `applied`: takes effect on the next heartbeat. Anything else needs a restart. */
  reload?: 'applied' | 'restart_required'
  /** The environment variable that overrides the file. */
  env?: string
  /** Shown as `***` wherever configuration is shown. */
  secret?: boolean
}

interface Key {
  path: string
  schema: z.ZodType
  meta: KeyMeta
  owner: string
  persisted: unknown
  effective: unknown
  live: unknown
}

export interface ConfigKeyInfo extends KeyMeta {
  path: string
  owner: string
  default: unknown
  schema: unknown
}

type Tree = Record<string, unknown>

/** Sections of configuration with their schemas; three views of their values: on disk, with the environment over it, in force. */
export class Config {
  readonly file: string
  readonly #ports: Pick<Ports, 'files' | 'env'>
  readonly #keys = new Map<string, Key>()
  #yaml: YamlFile | undefined
  #seen = ''
  readonly #secrets = new Set<string>()
  #writing: Promise<unknown> = Promise.resolve()

  constructor(file: string, ports: Pick<Ports, 'files' | 'env'>) {
    this.file = file
    this.#ports = ports
  }

  /** Reads the file before the first section is added. @throws BadFileError */
  async open(): Promise<void> {
    this.#yaml = await readYaml(this.#ports.files, this.file)
    this.#seen = String(this.#yaml.document)
  }

  /**
   * Parses the values of `shape` below `section` ('' for the top level) without adding it yet.
   * @returns the values as a live object (each property is read anew), and `add`, which makes the keys known
   * @throws InvalidInputError when the file or the environment holds a bad value
   */
  prepare<T extends object>(section: string, shape: z.ZodObject, owner: string): { view: T; add: () => Undo } {
    const keys = Object.entries(shape.shape).map(([name, schema]) => ({
      name,
      path: section ? `${section}.${name}` : name,
      schema: schema as z.ZodType,
      meta: metaOf(schema as z.ZodType),
      owner,
    }))
    const read = this.#read(keys, this.#yaml?.values ?? {}, this.#yaml)
    const made = keys.map(({ name, ...key }) => ({ name, key: { ...key, ...read.get(key.path)! } }))
    const view = {}
    for (const { name, key } of made) Object.defineProperty(view, name, { enumerable: true, get: () => key.live })
    return { view: view as T, add: () => this.#add(made.map(({ key }) => key)) }
  }

  #add(keys: Key[]): Undo {
    for (const { path, owner } of keys) {
      const taken = this.#keys.get(path)
      if (taken)
        throw new ConflictError({ sentence: `"${owner}" adds the key ${path}, but "${taken.owner}" has it already.` })
    }
    for (const key of keys) this.#keys.set(key.path, key)
    return () => {
      for (const { path } of keys) this.#keys.delete(path)
    }
  }

  get(path: string): unknown {
    return this.#keys.get(path)?.live
  }

  /** One of the three views as a tree, secrets masked. */
  tree(view: 'persisted' | 'effective' | 'live'): Tree {
    const tree: Tree = {}
    for (const key of this.#keys.values()) {
      if (key[view] === undefined) continue
      const value = key.meta.secret && key[view] ? '***' : key[view]
      setIn(tree, key.path.split('.'), value)
    }
    return tree
  }

  /** All keys with their class, default and schema, sorted by path. */
  keys(): ConfigKeyInfo[] {
    return [...this.#keys.values()]
      .map(key => ({
        path: key.path,
        owner: key.owner,
        ...key.meta,
        default: key.schema.safeParse(undefined).data,
        schema: z.toJSONSchema(key.schema, { io: 'input', unrepresentable: 'any' }),
      }))
      .sort((a, b) => a.path.localeCompare(b.path))
  }

  /** Keys of the file that no section knows, with their lines. */
  unknownKeys(): Issue[] {
    return leaves(this.#yaml?.values ?? {})
      .filter(([path]) => !this.#knows(path))
      .map(([path]) => ({
        path: path.join('.'),
        message: `line ${this.#yaml?.lineOf(path) ?? '?'}: is not a known key`,
      }))
  }

  /** Values that must not show anywhere: all that secret keys ever had in this process. */
  secrets(): string[] {
    return [...this.#secrets]
  }

  /**
   * Reads the file again and puts the hot subset in force.
   * @returns the keys whose value in force changed
   * @throws BadFileError or InvalidInputError once per bad edit; the last good configuration stays in force
   */
  async reload(): Promise<string[]> {
    const yaml = await this.#readAgain().catch(error => this.#onlyOnce(error))
    if (!yaml) return []
    this.#lastFault = ''
    if (String(yaml.document) === this.#seen) return []
    this.#seen = String(yaml.document)
    const read = this.#read([...this.#keys.values()], yaml.values, yaml)
    this.#yaml = yaml
    const changed: string[] = []
    for (const key of this.#keys.values()) {
      const { persisted, effective } = read.get(key.path)!
      Object.assign(key, { persisted, effective })
      if (key.meta.reload !== 'applied' || same(key.live, effective)) continue
      key.live = effective
      changed.push(key.path)
    }
    return changed
  }

  /**
   * Deep-merges `patch` into the file, keeping its comments; the merged result is checked before anything is written.
   * @returns for each changed key whether the next heartbeat applies it
   * @throws InvalidInputError (status 400) for unknown keys and bad values; the file is then untouched
   */
  patch(patch: Tree): Promise<Record<string, 'applied' | 'restart_required'>> {
    const written = this.#writing.then(() => this.#patch(patch))
    this.#writing = written.catch(() => {})
    return written
  }

  async #patch(patch: Tree) {
    const yaml = await readYaml(this.#ports.files, this.file)
    const changes = leaves(patch).filter(([path, value]) => !(this.#at(path)?.meta.secret && value === '***'))
    const unknown = changes
      .filter(([path]) => !this.#at(path) || path.some(isForbiddenKey))
      .map(([path]) => path.join('.'))
    if (unknown.length > 0) this.#refuse(unknown.map(path => ({ path, message: 'is not a known key' })))
    const reload: Record<string, 'applied' | 'restart_required'> = {}
    for (const [path, value] of changes) {
      if (same(getIn(yaml.values, path), value)) continue
      setIn(yaml.values, path, value)
      setInDocument(yaml, path, value)
      reload[path.join('.')] = this.#at(path)?.meta.reload ?? 'restart_required'
    }
    const read = this.#read([...this.#keys.values()], yaml.values, undefined)
    if (Object.keys(reload).length === 0) return reload
    await replaceFile(this.#ports.files, this.file, String(yaml.document))
    // What is in force changes on the next heartbeat; the other two views are true at once.
    for (const [path, { persisted, effective }] of read) Object.assign(this.#keys.get(path)!, { persisted, effective })
    return reload
  }

  /** The file as it is now. One that vanished or was emptied is taken for a write in progress, not for a wish. */
  async #readAgain(): Promise<YamlFile> {
    const yaml = await readYaml(this.#ports.files, this.file)
    if (yaml.document.contents === null && this.#yaml?.document.contents != null) {
      throw new BadFileError({
        file: this.file,
        problem: 'is gone or empty',
        remedy: 'restore it, or restart to take the defaults',
      })
    }
    return yaml
  }

  #read(keys: readonly Pick<Key, 'path' | 'schema' | 'meta'>[], values: Tree, yaml: YamlFile | undefined) {
    const issues: Issue[] = []
    const read = new Map<string, { persisted: unknown; effective: unknown; live: unknown }>()
    for (const { path, schema, meta } of keys) {
      const steps = path.split('.')
      const persisted = getIn(values, steps)
      const fromEnv = meta.env ? this.#ports.env[meta.env] : undefined
      const raw = fromEnv?.trim() ? fromText(fromEnv, schema) : persisted
      const parsed = schema.safeParse(raw)
      if (meta.secret) for (const value of [persisted, raw]) if (value) this.#secrets.add(String(value))
      if (parsed.success) read.set(path, { persisted, effective: parsed.data, live: parsed.data })
      else if (fromEnv?.trim()) issues.push(...issuesOf(parsed.error, `environment variable ${meta.env}`))
      else {
        const line = yaml?.lineOf(steps)
        issues.push(...issuesOf(parsed.error, line ? `${this.file}:${line}: ${path}` : path))
      }
    }
    if (issues.length > 0) this.#refuse(issues)
    return read
  }

  #refuse(issues: Issue[]): never {
    const error = new InvalidInputError({ what: 'The configuration', issues }, { errors: issues })
    throw Object.assign(error, { status: 400 })
  }

  #lastFault = ''
  #onlyOnce(error: SvcError): undefined {
    if (error.message === this.#lastFault) return undefined
    this.#lastFault = error.message
    throw error
  }

  #at(path: readonly string[]): Key | undefined {
    for (let depth = path.length; depth > 0; depth--) {
      const steps = path.slice(0, depth)
      const key = this.#keys.get(steps.join('.'))
      // "daemon.heartbeat" written as one name is not the key `heartbeat` of `daemon`.
      if (key && !steps.some(step => step.includes('.'))) return key
    }
    return undefined
  }

  #knows(path: readonly string[]): boolean {
    return path.join('.').startsWith('plugins.config.') || this.#at(path) !== undefined
  }
}

function metaOf(schema: z.ZodType): KeyMeta {
  const { reload, env, secret } = (schema.meta() ?? {}) as KeyMeta
  return { reload: reload ?? 'restart_required', ...(env ? { env } : {}), ...(secret ? { secret } : {}) }
}

/** An environment variable's text as the value its schema asks for; text that doesn't fit is left for the schema to refuse. */
function fromText(text: string, schema: z.ZodType): unknown {
  let type = schema
  while (type instanceof z.ZodDefault || type instanceof z.ZodOptional || type instanceof z.ZodNullable) {
    type = type.unwrap() as z.ZodType
  }
  if (type instanceof z.ZodNumber) return text.trim() === '' ? text : Number.isNaN(Number(text)) ? text : Number(text)
  if (type instanceof z.ZodBoolean) {
    if (/^(1|true|yes|on)$/i.test(text)) return true
    return /^(0|false|no|off)$/i.test(text) ? false : text
  }
  if (type instanceof z.ZodArray) return text.split(',').map(part => part.trim())
  return text
}

function leaves(tree: unknown, path: string[] = []): [string[], unknown][] {
  if (typeof tree !== 'object' || tree === null || Array.isArray(tree)) return path.length > 0 ? [[path, tree]] : []
  return Object.entries(tree).flatMap(([key, value]) => leaves(value, [...path, key]))
}

function getIn(tree: unknown, path: readonly string[]): unknown {
  let at = tree
  for (const step of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, step)) return undefined
    at = (at as Tree)[step]
  }
  return at
}

function setIn(tree: Tree, path: readonly string[], value: unknown): void {
  const [step, ...rest] = path
  if (step === undefined) return
  if (rest.length === 0) {
    Object.defineProperty(tree, step, { value, enumerable: true, writable: true, configurable: true })
    return
  }
  const below = Object.hasOwn(tree, step) ? tree[step] : undefined
  if (typeof below !== 'object' || below === null) tree[step] = {}
  setIn(tree[step] as Tree, rest, value)
}

/** Sets a value in the text's tree; what stands in the way and is no mapping (`daemon:` with nothing below) makes room. */
function setInDocument({ document }: YamlFile, path: readonly string[], value: unknown): void {
  for (let depth = 1; depth < path.length; depth++) {
    const above = path.slice(0, depth)
    if (document.hasIn(above) && !isMap(document.getIn(above, true))) document.deleteIn(above)
  }
  document.setIn(path, value)
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
