import { basename, dirname, join } from 'node:path'
import {
  type ConfigKeyInfo,
  type ConfigSource,
  type Configuration,
  type Issue,
  type Log,
  type Ports,
  type ReloadClass,
  SvcError,
  type Undo,
  z,
} from '#kernel'
import { DiskFailedError, DiskFullError, isDiskFull } from '#lib/errors'
import { type LockPorts, lockFile } from '#lib/lock'
import { getIn, same, setIn, type Tree } from '#lib/tree'
import {
  BadFileError,
  editYaml,
  forbiddenPath,
  isForbiddenKey,
  parseYaml,
  readYaml,
  replaceFile,
  type YamlChange,
  type YamlFile,
} from '#lib/yaml'
import { runChecks } from './config-checks.ts'
import { ConfigKeys, fromText, type KeyValues, type KnownKey, metaOf, refuse } from './config-keys.ts'
import { changesOf, isStated, MASK, unknownIn } from './config-patch.ts'
import { placedValue, type ReadValues, readValues, valuesOf, variableOf, withPlace } from './config-values.ts'
import type { ConfigCheck, ConfigFault, ConfigView, Forbids } from './contract.ts'

export interface ConfigOptions {
  /**
   * Uses the default for each invalid value, and for all values of a file that is not valid YAML. `faults` lists the
   * errors.
   */
  lenient?: boolean
  /** Name of the file in messages; by default its path. */
  configName?: string | undefined
}

/**
 * Configuration from a file, overridden by the environment: sections with their schemas, and three views of their
 * values.
 */
export class Config implements Configuration {
  readonly file: string
  /** The file's text as last read. */
  readonly text = () => this.#yaml.text
  /** The file's name in error messages. */
  readonly #name: string
  /** Name of the file in warnings, which are read outside the project's folder. */
  readonly #fullName: string
  readonly #ports: Pick<Ports, 'env' | 'ownFiles'> & LockPorts
  readonly #keys = new ConfigKeys()
  /** Keys of sections whose values were refused, by section. Their plugins wait for a change of these values. */
  readonly #waiting = new Map<string, KnownKey[]>()
  #yaml!: YamlFile
  #seen = ''
  readonly #secrets = new Set<string>()
  #writing: Promise<unknown> = Promise.resolve()
  /** Number of writes by this process. A read that began before a write is outdated. */
  #writes = 0
  #lastFault = ''
  #textWarnedOf: string | undefined
  readonly #lenient: boolean
  /** Why the file could not be read, when the configuration is lenient. */
  #unread: SvcError | undefined
  #checks: () => readonly ConfigCheck[] = () => []

  constructor(
    file: string,
    ports: Pick<Ports, 'env' | 'ownFiles'> & LockPorts,
    { lenient = false, configName }: ConfigOptions = {},
  ) {
    this.file = file
    this.#name = configName ?? join(basename(dirname(file)), basename(file))
    this.#fullName = configName ?? file
    this.#ports = ports
    this.#lenient = lenient
  }

  /** Reads the file before the first section is added. @throws BadFileError unless the configuration is lenient */
  async open(): Promise<void> {
    this.#yaml = await readYaml(this.#ports.files, this.file, this.#name).catch(error => {
      if (!this.#lenient || !(error instanceof SvcError)) throw error
      this.#unread = error
      return parseYaml(this.#name, '')
    })
    this.#seen = this.#yaml.text
  }

  /** Sets the function that returns the checks of the complete configuration. */
  checkWith(checks: () => readonly ConfigCheck[]): void {
    this.#checks = checks
  }

  /** Returns what is wrong with the configuration. @param levels of checks; all by default */
  async faults(levels?: readonly Forbids[]): Promise<ConfigFault[]> {
    const { read, bad } = this.#read(this.#keys.all(), this.#yaml)
    const values = valuesOf(read, this.#keys, this.#ports.env, this.#yaml)
    const found = await runChecks(this.#checks(), values, levels)
    return [
      ...(this.#unread
        ? [{ path: '', message: this.#unread.message.replace(/\.$/, ''), forbids: 'start' as const }]
        : []),
      ...bad.map(each => ({ ...placedValue(each, this.#yaml), forbids: 'start' as const })),
      ...found.map(fault => ({ ...fault, path: withPlace(fault.path, this.#keys, this.#ports.env, this.#yaml) })),
    ]
  }

  /**
   * Checks the configuration before a start. @throws InvalidConfigError when a check forbids the start, unless the
   * configuration is lenient
   */
  async verify(): Promise<void> {
    if (this.#lenient) return
    const found = await this.faults(['start'])
    if (found.length > 0) refuse(found)
  }

  /**
   * Parses the values of `shape` below `section` ('' for the top level) without adding it yet.
   * @returns the values, whose properties follow the live values, and `add`, which registers the keys
   * @throws InvalidConfigError when the file or the environment holds an invalid value, unless the configuration is
   * lenient
   */
  section<S extends z.ZodObject>(section: string, shape: S, owner: string): { view: z.output<S>; add: () => Undo } {
    const keys = Object.entries(shape.shape).map(([name, schema]) => ({
      name,
      path: section ? `${section}.${name}` : name,
      schema: schema as z.ZodType,
      meta: metaOf(schema as z.ZodType),
      owner,
    }))
    const waiting = keys.map(({ name: _, ...key }) => ({ ...key, ...this.#byDefault(key), live: undefined }))
    this.#waiting.set(section, waiting)
    const read = this.#lenient ? this.#read(keys, this.#yaml).read : this.#valid(keys, this.#yaml)
    this.#waiting.delete(section)
    const view: Record<string, unknown> = {}
    const made = keys.map(({ name, ...key }) => {
      const values = read.get(key.path) ?? this.#byDefault(key)
      view[name] = values.effective
      return {
        ...key,
        ...values,
        get live() {
          return view[name]
        },
        set live(value: unknown) {
          view[name] = value
        },
      }
    })
    return { view: view as z.output<S>, add: () => this.#keys.add(made) }
  }

  get(path: string): unknown {
    return this.#keys.get(path)?.live
  }

  /** Returns one of the three views as a tree, or one section of it, with secrets masked. `persisted` includes unknown keys. */
  tree(view: ConfigView, section?: string): Tree {
    const tree: Tree = {}
    if (view === 'persisted') for (const { path, shown } of unknownIn(this.#yaml, this.#keys)) setIn(tree, path, shown)
    for (const key of this.#keys.all()) {
      if (section !== undefined && !key.path.startsWith(`${section}.`)) continue
      if (key[view] !== undefined) setIn(tree, key.path.split('.'), key.meta.secret && key[view] ? MASK : key[view])
    }
    return tree
  }

  /** Returns all keys with their reload class, default and schema, sorted by path. */
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

  /** Returns the keys of the file that no section has, with their lines. */
  unknownKeys(): Issue[] {
    return unknownIn(this.#yaml, this.#keys)
      .filter(({ path }) => !path.join('.').startsWith('plugins.config.'))
      .map(({ path }) => ({
        path: path.join('.'),
        message: `line ${this.#yaml.lineOf(path) ?? '?'}: ${this.#keys.unknownKeyMessage(path)}`,
      }))
  }

  /** Logs the unknown keys of the file, once for each edit. */
  warnOfUnknownKeys(log: Log): void {
    const { text } = this.#yaml
    if (text === this.#textWarnedOf) return
    this.#textWarnedOf = text
    for (const { path, message } of this.unknownKeys()) log.warn({}, `${this.#fullName}: ${path}: ${message}`)
  }

  /** Returns the keys whose value on disk takes effect only after a restart of this process. */
  keysAwaitingRestart(): string[] {
    return this.#keys
      .all()
      .filter(({ meta, live, effective }) => meta.reload !== 'applied' && !same(live, effective))
      .map(({ path }) => path)
  }

  /** Returns all values that secret keys have had in this process; they must never be shown. */
  secrets(): string[] {
    return [...this.#secrets]
  }

  /**
   * Reads the file again and applies the values of `applied` keys.
   * @returns the keys whose live value changed
   * @throws BadFileError or InvalidConfigError once per invalid edit; the last valid configuration stays live
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
   * Updates the persisted and effective views after an edit that no heartbeat has applied; live values stay.
   * @returns what is wrong with the file; the views are then those of the last valid one
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
   * Deep-merges `patch` into the file and keeps its comments; the merged result is checked before it is written. `***`
   * leaves a secret unchanged. A value that the environment already sets is not written.
   * @returns for each changed key whether the next heartbeat applies it
   * @throws InvalidConfigError for unknown keys and invalid values, BadFileError when the file itself is not valid,
   * FileLockedError; the file is then untouched
   */
  patch(patch: Tree): Promise<Record<string, ReloadClass>> {
    return this.#edit(yaml => changesOf(patch, this.#writable(), yaml, this.#ports.env))
  }

  /**
   * Sets one key in the file; a mapping replaces the previous one. @throws UnknownConfigKeyError, and what `patch`
   * throws
   */
  set(key: string, value: unknown): Promise<Record<string, ReloadClass>> {
    const path = this.pathOf(key)
    if (path.some(isForbiddenKey) || forbiddenPath(value)) refuse([{ path: key, message: 'is not a known key' }])
    return this.#edit(yaml =>
      isStated(this.#keys.findKey(path)!, path, value, yaml, this.#ports.env) ? [] : [{ path, value }],
    )
  }

  /**
   * Removes a key from the file, so that its default applies again; also an unknown key, and while other values are
   * invalid.
   * @throws UnknownConfigKeyError, and what `patch` throws
   */
  unset(key: string): Promise<Record<string, ReloadClass>> {
    const takeValue = (yaml: YamlFile) => {
      const path = key.split('.')
      const isStray = !this.#keys.findKey(path) && !this.#keys.isSection(path) && getIn(yaml.values, path) !== undefined
      return [{ path: isStray ? path : this.pathOf(key), value: undefined }]
    }
    return this.#edit(takeValue, true)
  }

  /**
   * Returns the path of a key as users write it: `daemon.heartbeat`, an entry of a mapping, or a field of it. @throws
   * UnknownConfigKeyError
   */
  pathOf(key: string): string[] {
    return this.#keys.find(key).path
  }

  /**
   * Parses a string as a value of this key. A string that does not fit is left for the schema to reject. @throws
   * UnknownConfigKeyError
   */
  parseText(key: string, text: string): unknown {
    return fromText(text, this.#keys.find(key).schema)
  }

  /**
   * Runs one write at a time: first in this process, then among all processes that share the file. @param isRepair see
   * `#write`
   */
  #edit(change: (yaml: YamlFile) => YamlChange[], isRepair = false): Promise<Record<string, ReloadClass>> {
    const write = async () => {
      const release = await this.#lock().catch(error => this.#cannotWrite(error))
      try {
        return await this.#write(change, isRepair)
      } finally {
        await release()
      }
    }
    const written = this.#writing.then(write)
    this.#writing = written.catch(() => {})
    return written
  }

  /** Locks the file, and creates its folder for the first write. */
  async #lock(): Promise<() => Promise<void>> {
    await this.#ports.files.mkdir(dirname(this.file), { recursive: true, mode: 0o700 })
    return lockFile(`${this.file}.lock`, this.#ports)
  }

  /** Writes a change to the file. @param isRepair whether other faults of the file may remain */
  async #write(change: (yaml: YamlFile) => YamlChange[], isRepair: boolean): Promise<Record<string, ReloadClass>> {
    const yaml = await this.#readAgain()
    const wanted = change(yaml)
    const changes = wanted.filter(({ path, value }) => !same(getIn(yaml.values, path), value))
    const edited = changes.length > 0 ? editYaml(yaml, changes) : yaml
    const keys = this.#writable()
    const [before, after] = [yaml, edited].map(each => this.#read(keys.all(), each)) as [ReadValues, ReadValues]
    // Faults of the environment are neither caused nor fixed by a change of the file.
    const bad = after.bad.filter(({ inFile }) => inFile)
    const touched = new Set(wanted.map(({ path }) => keys.findKey(path)?.path))
    const own = bad.filter(each => touched.has(each.key) && !(isRepair && isAmong(each, before.bad)))
    if (own.length > 0) refuse(own)
    // A key that is missing stops only its plugin, and so does one of a plugin that is not live.
    const other = bad.find(({ key }) => this.#keys.get(key) && getIn(yaml.values, key.split('.')) !== undefined)
    const mends = bad.length < before.bad.filter(({ inFile }) => inFile).length
    if (other && !isRepair && !mends) {
      const line = yaml.lineOf(other.key.split('.'))
      const problem = `${other.path}: ${other.message}`
      throw new BadFileError({ file: this.#name, line, problem, remedy: 'correct that first' })
    }
    const was = await this.#brokenIn(yaml)
    const caused = (await this.#brokenIn(edited)).filter(each => !isAmong(each, was))
    if (caused.length > 0) refuse(caused)
    if (changes.length > 0) {
      await this.#replace(edited.text)
      this.#writes++
      // Live values change on the next heartbeat; the other two views change now.
      this.#take(edited, after.read)
    }
    const classOf = (path: readonly string[]) => keys.findKey(path)?.meta.reload ?? 'restart_required'
    return Object.fromEntries(changes.map(({ path }) => [path.join('.'), classOf(path)]))
  }

  /** Returns all keys that can be written, also those of plugins that wait for valid values, which load with them. */
  #writable(): ConfigKeys {
    const keys = new ConfigKeys()
    const waiting = [...this.#waiting.values()].flat().filter(({ path }) => !this.#keys.get(path))
    keys.add([
      ...this.#keys.all(),
      ...waiting.map(key => ({ ...key, meta: { ...key.meta, reload: 'applied' as const } })),
    ])
    return keys
  }

  /** Returns the errors that a changed file would cause, with and without the environment. */
  async #brokenIn(file: YamlFile): Promise<ConfigFault[]> {
    const found = [this.#ports.env, {}].map(env => {
      const { read } = readValues(this.#keys.all(), file, env)
      return runChecks(this.#checks(), valuesOf(read, this.#keys, env), ['start', 'change'])
    })
    const [now, alone] = (await Promise.all(found)) as [ConfigFault[], ConfigFault[]]
    return [...now, ...alone.filter(each => !isAmong(each, now))]
  }

  #byDefault({ path, schema }: Pick<KnownKey, 'path' | 'schema'>): KeyValues {
    return { persisted: getIn(this.#yaml.values, path.split('.')), effective: schema.safeParse(undefined).data }
  }

  async #replace(text: string): Promise<void> {
    const { files } = this.#ports
    // Keeps a symbolic link: the configuration may be stored elsewhere.
    const file = await files.realpath(this.file).catch(() => this.file)
    await replaceFile(files, file, text).catch(error => this.#cannotWrite(error))
  }

  #cannotWrite(error: unknown): never {
    const { code } = error as NodeJS.ErrnoException
    if (error instanceof SvcError || code === undefined) throw error
    if (isDiskFull(error))
      throw new DiskFullError({ what: this.#name, next: ' and try again' }, { cause: error, retryAfter: 5 })
    if (code === 'EIO') throw new DiskFailedError({ what: this.#name, problem: code }, { cause: error, retryAfter: 5 })
    throw new BadFileError({ file: this.#name, problem: `cannot be written (${code})` }, { cause: error })
  }

  /**
   * Reads the file again. A file that vanished or is empty may be half-written; one with comments only, as from `svc
   * init`, is complete.
   */
  async #readAgain(): Promise<YamlFile> {
    const yaml = await readYaml(this.#ports.ownFiles, this.file, this.#name, this.#yaml)
    if (yaml.text.trim() === '' && this.#yaml.text.trim() !== '') {
      const remedy = 'restore it, or restart to use the defaults'
      throw new BadFileError({ file: this.#name, problem: 'is gone or empty', remedy })
    }
    return yaml
  }

  /** Reads and checks the file; returns no values if it is unchanged since they were applied. */
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

  /** Returns the valid values of these keys. @throws InvalidConfigError naming the lines and the variables */
  #valid(keys: readonly Pick<KnownKey, 'path' | 'schema' | 'meta'>[], yaml: YamlFile): Map<string, KeyValues> {
    const { read, bad } = this.#read(keys, yaml)
    if (bad.length > 0) refuse(bad.map(each => placedValue(each, yaml)))
    return read
  }

  #read(keys: readonly Pick<KnownKey, 'path' | 'schema' | 'meta'>[], yaml: YamlFile): ReadValues {
    const found = readValues(keys, yaml, this.#ports.env)
    for (const value of found.secrets) this.#secrets.add(value)
    return found
  }

  #sourceOf({ meta, persisted }: KnownKey): ConfigSource {
    if (variableOf(meta, this.#ports.env) !== undefined) return 'env'
    return persisted === undefined ? 'default' : 'file'
  }

  #onlyOnce(error: SvcError): undefined {
    if (error.message === this.#lastFault) return undefined
    this.#lastFault = error.message
    throw error
  }
}

function isAmong({ path, message }: Issue, issues: readonly Issue[]): boolean {
  return issues.some(each => each.path === path && each.message === message)
}
