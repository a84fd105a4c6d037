import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import { DiskFullError, type Issue, SvcError } from './errors.ts'
import {
  type ConfigKey,
  type ConfigKeyInfo,
  ConfigKeys,
  type ConfigSource,
  type ConfigView,
  fromText,
  isMapping,
  type KeyMeta,
  type KeyValues,
  metaOf,
  type ReloadClass,
  refuse,
} from './keys.ts'
import { type LockPorts, lockFile } from './lock.ts'
import { issuesOf } from './operations.ts'
import type { Ports } from './ports.ts'
import type { Undo } from './scope.ts'
import { getIn, isTree, leaves, same, setIn, type Tree } from './tree.ts'
import {
  BadFileError,
  editYaml,
  forbiddenPath,
  isForbiddenKey,
  readYaml,
  replaceFile,
  type YamlChange,
  type YamlFile,
} from './yaml.ts'

const MASK = '***'
/** What is nested deeper is no configuration. */
const MAX_DEPTH = 16
/** A patch with more faults than this is not told about all of them. */
const MAX_ISSUES = 20
/** Keys that no plugin knows are masked when they are called like this. */
const SECRET_NAME = /key|token|secret|password/i

/** A value that the schema of its key refuses: one of the file, or of the environment. */
interface Fault extends Issue {
  key: string
  inFile: boolean
}

/** Sections of configuration with their schemas; three views of their values: on disk, with the environment over it, in force. */
export class Config {
  readonly file: string
  /** The file's text, as it was read last. */
  readonly text = () => this.#yaml.text
  /** The file as errors call it. */
  readonly #name: string
  readonly #ports: Pick<Ports, 'env'> & LockPorts
  readonly #keys = new ConfigKeys()
  #yaml!: YamlFile
  #seen = ''
  readonly #secrets = new Set<string>()
  #writing: Promise<unknown> = Promise.resolve()
  /** How often this process wrote the file. What was read before a write is out of date. */
  #writes = 0
  #lastFault = ''

  constructor(file: string, ports: Pick<Ports, 'env'> & LockPorts) {
    this.file = file
    this.#name = join(basename(dirname(file)), basename(file))
    this.#ports = ports
  }

  /** Reads the file before the first section is added. @throws BadFileError */
  async open(): Promise<void> {
    this.#yaml = await readYaml(this.#ports.files, this.file, this.#name)
    this.#seen = this.#yaml.text
  }

  /**
   * Parses the values of `shape` below `section` ('' for the top level) without adding it yet.
   * @returns the values as a live object (each property is read anew), and `add`, which makes the keys known
   * @throws InvalidConfigError when the file or the environment holds a bad value
   */
  prepare<T extends object>(section: string, shape: z.ZodObject, owner: string): { view: T; add: () => Undo } {
    const keys = Object.entries(shape.shape).map(([name, schema]) => ({
      name,
      path: section ? `${section}.${name}` : name,
      schema: schema as z.ZodType,
      meta: metaOf(schema as z.ZodType),
      owner,
    }))
    const read = this.#valid(keys, this.#yaml)
    const made = keys.map(({ name, ...key }) => {
      const values = read.get(key.path)!
      return { name, key: { ...key, ...values, live: values.effective } }
    })
    const view = {}
    for (const { name, key } of made) Object.defineProperty(view, name, { enumerable: true, get: () => key.live })
    return { view: view as T, add: () => this.#keys.add(made.map(({ key }) => key)) }
  }

  get(path: string): unknown {
    return this.#keys.get(path)?.live
  }

  /** One of the three views as a tree, or one section of it, secrets masked. What is on disk is shown with the keys that nobody knows. */
  tree(view: ConfigView, section?: string): Tree {
    const tree: Tree = {}
    if (view === 'persisted') for (const { path, shown } of this.#unknown()) setIn(tree, path, shown)
    for (const key of this.#keys.all()) {
      if (section !== undefined && !key.path.startsWith(`${section}.`)) continue
      if (key[view] !== undefined) setIn(tree, key.path.split('.'), key.meta.secret && key[view] ? MASK : key[view])
    }
    return tree
  }

  /** All keys with their class, default and schema, sorted by path. */
  keys(): ConfigKeyInfo[] {
    return this.#keys
      .all()
      .map(key => ({
        path: key.path,
        owner: key.owner,
        ...key.meta,
        default: key.schema.safeParse(undefined).data,
        schema: z.toJSONSchema(key.schema, { io: 'input', unrepresentable: 'any' }),
        source: this.#sourceOf(key),
      }))
      .sort((a, b) => a.path.localeCompare(b.path))
  }

  /** Keys of the file that no section knows, with their lines. */
  unknownKeys(): Issue[] {
    return this.#unknown()
      .filter(({ path }) => !path.join('.').startsWith('plugins.config.'))
      .map(({ path }) => ({
        path: path.join('.'),
        message: `line ${this.#yaml.lineOf(path) ?? '?'}: is not a known key`,
      }))
  }

  /** Values that must not show anywhere: all that secret keys ever had in this process. */
  secrets(): string[] {
    return [...this.#secrets]
  }

  /**
   * Reads the file again and puts the hot subset in force.
   * @returns the keys whose value in force changed
   * @throws BadFileError or InvalidConfigError once per bad edit; the last good configuration stays in force
   */
  async reload(): Promise<string[]> {
    const writes = this.#writes
    const found = await this.#readValid().catch(error => this.#onlyOnce(error))
    if (!found) return []
    this.#lastFault = ''
    const { yaml, read } = found
    if (!read || writes !== this.#writes) return []
    this.#seen = yaml.text
    this.#take(yaml, read)
    const changed: string[] = []
    for (const key of this.#keys.all()) {
      if (key.meta.reload !== 'applied' || same(key.live, key.effective)) continue
      key.live = key.effective
      changed.push(key.path)
    }
    return changed
  }

  /**
   * Makes the first two views true after an edit that no heartbeat has seen; what is in force stays.
   * @returns what is wrong with the file; the views are then those of the last good one
   */
  async refresh(): Promise<string | undefined> {
    const writes = this.#writes
    try {
      const { yaml, read } = await this.#readValid()
      if (read && writes === this.#writes) this.#take(yaml, read)
      return undefined
    } catch (error) {
      if (error instanceof SvcError) return error.message
      throw error
    }
  }

  /**
   * Deep-merges `patch` into the file, keeping its comments; the merged result is checked before anything is written.
   * `***` leaves a secret as it is, and so does what the environment says already: it is not for the file.
   * @returns for each changed key whether the next heartbeat applies it
   * @throws InvalidConfigError for unknown keys and bad values, BadFileError when the file itself is not valid,
   *   FileLockedError; the file is then untouched
   */
  patch(patch: Tree): Promise<Record<string, ReloadClass>> {
    return this.#edit(yaml => this.#changesOf(patch, yaml))
  }

  /** Sets one key in the file; a mapping takes the place of the one there was. @throws UnknownConfigKeyError, and what `patch` throws */
  set(key: string, value: unknown): Promise<Record<string, ReloadClass>> {
    const path = this.pathOf(key)
    if (path.some(isForbiddenKey) || forbiddenPath(value)) refuse([{ path: key, message: 'is not a known key' }])
    return this.#edit(yaml => (this.#stays(this.#keys.at(path)!, path, value, yaml) ? [] : [{ path, value }]))
  }

  /** Takes a key out of the file, so that its default is in force again. @throws UnknownConfigKeyError, and what `patch` throws */
  unset(key: string): Promise<Record<string, ReloadClass>> {
    return this.#edit(() => [{ path: this.pathOf(key), value: undefined }])
  }

  /** The path of a key as people write it: `daemon.heartbeat`, an entry of a mapping, or a field of it. @throws UnknownConfigKeyError */
  pathOf(key: string): string[] {
    return this.#keys.find(key).path
  }

  /** A text as the value that this key takes. One that doesn't fit is left for its schema to refuse. @throws UnknownConfigKeyError */
  parseText(key: string, text: string): unknown {
    return fromText(text, this.#keys.find(key).schema)
  }

  /** One write at a time: first in this process, then among all that share the file. */
  #edit(change: (yaml: YamlFile) => YamlChange[]): Promise<Record<string, ReloadClass>> {
    const write = async () => {
      const release = await this.#lock().catch(error => this.#cannotWrite(error))
      try {
        return await this.#write(change)
      } finally {
        await release()
      }
    }
    const written = this.#writing.then(write)
    this.#writing = written.catch(() => {})
    return written
  }

  /** The first to write may find no folder yet. */
  async #lock(): Promise<() => Promise<void>> {
    await this.#ports.files.mkdir(dirname(this.file), { recursive: true, mode: 0o700 })
    return lockFile(`${this.file}.lock`, this.#ports)
  }

  async #write(change: (yaml: YamlFile) => YamlChange[]): Promise<Record<string, ReloadClass>> {
    const yaml = await this.#readAgain()
    const wanted = change(yaml)
    const changes = wanted.filter(({ path, value }) => !same(getIn(yaml.values, path), value))
    const edited = changes.length > 0 ? editYaml(yaml, changes) : yaml
    const { read, faults } = this.#read(this.#keys.all(), edited)
    const touched = new Set(wanted.map(({ path }) => this.#keys.at(path)?.path))
    const own = faults.filter(({ key }) => touched.has(key))
    if (own.length > 0) refuse(own)
    const [other] = faults
    if (other) {
      const line = yaml.lineOf(other.key.split('.'))
      const problem = `${other.path}: ${other.message}`
      throw new BadFileError({ file: this.#name, line, problem, remedy: 'correct that first' })
    }
    if (changes.length > 0) {
      await this.#replace(edited.text)
      this.#writes++
      // What is in force changes on the next heartbeat; the other two views are true at once.
      this.#take(edited, read)
    }
    return Object.fromEntries(changes.map(({ path }) => [path.join('.'), this.#keys.at(path)!.meta.reload]))
  }

  async #replace(text: string): Promise<void> {
    const { files } = this.#ports
    // A link stays one, as those who keep their configuration elsewhere want it.
    const file = await files.realpath(this.file).catch(() => this.file)
    await replaceFile(files, file, text).catch(error => this.#cannotWrite(error))
  }

  #cannotWrite(error: unknown): never {
    const { code } = error as NodeJS.ErrnoException
    if (error instanceof SvcError || code === undefined) throw error
    if (code === 'ENOSPC' || code === 'EDQUOT')
      throw new DiskFullError({ what: this.#name, next: ' and try again' }, { cause: error, retryAfter: 5 })
    throw new BadFileError({ file: this.#name, problem: `cannot be written (${code})` }, { cause: error })
  }

  /** What a patch asks for, one change for each value. @throws InvalidConfigError for what no key takes */
  #changesOf(patch: Tree, yaml: YamlFile): YamlChange[] {
    const changes: YamlChange[] = []
    const issues: Issue[] = []
    const refused = (path: readonly string[], message: string) => issues.push({ path: path.join('.'), message })
    const walk = (tree: Tree, above: readonly string[]) => {
      for (const [step, value] of Object.entries(tree)) {
        if (issues.length >= MAX_ISSUES) return
        const path = [...above, step]
        const key = this.#keys.at(path)
        if (isForbiddenKey(step)) refused(path, 'is not a known key')
        else if (path.length > MAX_DEPTH) refused(path, `is nested more than ${MAX_DEPTH} levels deep`)
        else if (isTree(value) && this.#goesBelow(path, value)) walk(value, path)
        else if (key) {
          const forbidden = forbiddenPath(value)
          if (forbidden) refused([...path, ...forbidden], 'is not a known key')
          else if (!this.#stays(key, path, value, yaml)) changes.push({ path, value })
        } else if (this.#keys.isSection(path)) refused(path, 'is a section: it takes a mapping of keys')
        else if (!this.#isAsShown(path, value, yaml)) refused(path, this.#keys.strange(path))
      }
    }
    walk(patch, [])
    if (issues.length > 0) refuse(issues)
    return changes
  }

  /** Whether a mapping of a patch is merged into what is there, rather than a value of the wrong kind. */
  #goesBelow(path: readonly string[], value: Tree): boolean {
    const key = this.#keys.at(path)
    if (!key) return this.#keys.isSection(path) || Object.keys(value).length > 0
    return isMapping(key.schema) || key.path !== path.join('.')
  }

  /** Whether a value of a patch only says what is so already, without the file. */
  #stays(key: ConfigKey, path: readonly string[], value: unknown, { values }: YamlFile): boolean {
    if (key.meta.secret && value === MASK) return true
    return this.#variable(key.meta) !== undefined && getIn(values, path) === undefined && same(key.effective, value)
  }

  /** What nobody knows may come back as it was shown. */
  #isAsShown(path: readonly string[], value: unknown, yaml: YamlFile): boolean {
    return this.#unknown(yaml).some(unknown => same(unknown.path, path) && same(unknown.shown, value))
  }

  #unknown({ values } = this.#yaml): { path: string[]; shown: unknown }[] {
    const isEmpty = (path: string[], value: unknown) => this.#keys.isSection(path) && (value === null || isTree(value))
    return leaves(values)
      .filter(([path, value]) => !this.#keys.at(path) && !isEmpty(path, value))
      .map(([path, value]) => ({ path, shown: SECRET_NAME.test(path.at(-1)!) && value ? MASK : value }))
  }

  /** The file as it is now. One that vanished or was emptied may be half-written; comments alone, as `svc init` writes them, are not. */
  async #readAgain(): Promise<YamlFile> {
    const yaml = await readYaml(this.#ports.files, this.file, this.#name, this.#yaml)
    if (yaml.text.trim() === '' && this.#yaml.text.trim() !== '') {
      const remedy = 'restore it, or restart to take the defaults'
      throw new BadFileError({ file: this.#name, problem: 'is gone or empty', remedy })
    }
    return yaml
  }

  /** Without values where the file is as it was when they were put in force. */
  async #readValid() {
    const yaml = await this.#readAgain()
    const isNew = yaml.text !== this.#seen || yaml.text !== this.#yaml.text
    return { yaml, read: isNew ? this.#valid(this.#keys.all(), yaml) : undefined }
  }

  #take(yaml: YamlFile, read: ReadonlyMap<string, KeyValues>): void {
    this.#yaml = yaml
    for (const [path, values] of read) {
      const key = this.#keys.get(path)
      if (key) Object.assign(key, values)
    }
  }

  /** @throws InvalidConfigError naming the lines and the variables */
  #valid(keys: readonly Pick<ConfigKey, 'path' | 'schema' | 'meta'>[], yaml: YamlFile): Map<string, KeyValues> {
    const { read, faults } = this.#read(keys, yaml)
    const placed = faults.map(({ key, path, message, inFile }) => {
      const line = inFile ? yaml.lineOf(key.split('.')) : undefined
      return { path: line ? `${this.#name}:${line}: ${path}` : path, message }
    })
    if (placed.length > 0) refuse(placed)
    return read
  }

  #read(keys: readonly Pick<ConfigKey, 'path' | 'schema' | 'meta'>[], { values }: YamlFile) {
    const faults: Fault[] = []
    const fault = (key: string, error: z.ZodError, variable?: string) =>
      faults.push(...issuesOf(error, variable ?? key).map(issue => ({ ...issue, key, inFile: variable === undefined })))
    const read = new Map<string, KeyValues>()
    for (const { path, schema, meta } of keys) {
      const persisted = getIn(values, path.split('.'))
      const variable = this.#variable(meta)
      const raw = variable === undefined ? persisted : fromText(variable, schema)
      const parsed = schema.safeParse(raw)
      if (meta.secret) for (const value of [persisted, raw]) if (value) this.#secrets.add(String(value))
      if (parsed.success) read.set(path, { persisted, effective: parsed.data })
      else fault(path, parsed.error, variable === undefined ? undefined : `environment variable ${meta.env}`)
      // What the file says must hold when the variable is gone.
      const below = variable === undefined || persisted === undefined ? undefined : schema.safeParse(persisted)
      if (below?.error) fault(path, below.error)
    }
    return { read, faults }
  }

  #variable({ env }: KeyMeta): string | undefined {
    const text = env ? this.#ports.env[env] : undefined
    return text?.trim() ? text : undefined
  }

  #sourceOf({ meta, persisted }: ConfigKey): ConfigSource {
    if (this.#variable(meta) !== undefined) return 'env'
    return persisted === undefined ? 'default' : 'file'
  }

  #onlyOnce(error: SvcError): undefined {
    if (error.message === this.#lastFault) return undefined
    this.#lastFault = error.message
    throw error
  }
}
