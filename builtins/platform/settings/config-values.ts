import { type Issue, issuesOf, type KeyMeta, type Ports, type z } from '#kernel'
import { getIn } from '#lib/tree'
import type { YamlFile } from '#lib/yaml'
import { type ConfigKeys, fromText, type KeyValues, type KnownKey } from './config-keys.ts'
import type { ConfigValues } from './contract.ts'

type Env = Ports['env']

/** A value of the file or the environment that violates its schema. */
export interface BadValue extends Issue {
  key: string
  inFile: boolean
}

/** Valid values by key. */
export interface ReadValues {
  read: Map<string, KeyValues>
  bad: BadValue[]
  /** Values of secret keys. */
  secrets: string[]
}

/** Reads keys from a file; environment variables override it. */
export function readValues(
  keys: Iterable<Pick<KnownKey, 'path' | 'schema' | 'meta'>>,
  file: YamlFile,
  env: Env,
): ReadValues {
  const found: ReadValues = { read: new Map(), bad: [], secrets: [] }
  const addIssues = (key: string, error: z.ZodError, variable?: string, remedy = '') => {
    const issues = issuesOf(error, variable ?? key)
    const inFile = variable === undefined
    found.bad.push(...issues.map(issue => ({ ...issue, message: issue.message + remedy, key, inFile })))
  }
  for (const { path, schema, meta } of keys) {
    const persisted = getIn(file.values, path.split('.'))
    const variable = variableOf(meta, env)
    const raw = variable === undefined ? persisted : fromText(variable, schema)
    const parsed = schema.safeParse(raw)
    if (meta.secret) for (const value of [persisted, raw]) if (value) found.secrets.push(String(value))
    if (parsed.success) found.read.set(path, { persisted, effective: parsed.data })
    else
      addIssues(path, parsed.error, variable === undefined ? undefined : variableName(meta), remedyOf(raw, path, meta))
    // The file's value must be valid too: it applies once the variable is removed.
    const below = variable === undefined || persisted === undefined ? undefined : schema.safeParse(persisted)
    if (below?.error) addIssues(path, below.error)
  }
  return found
}

/** Returns how to set a key that has no value. */
function remedyOf(value: unknown, path: string, { env }: KeyMeta): string {
  return value === undefined ? `; set it with: svc config set ${path} <value>${env ? `, or in ${env}` : ''}` : ''
}

/** Returns the name of the environment variable that overrides a key. */
export function variableOf({ env: name }: KeyMeta, env: Env): string | undefined {
  const text = name ? env[name] : undefined
  return text?.trim() ? text : undefined
}

/** Returns the values for checks. @param file for line numbers in messages; without it, only variables are named */
export function valuesOf(
  read: ReadonlyMap<string, KeyValues>,
  keys: ConfigKeys,
  env: Env,
  file?: YamlFile,
): ConfigValues {
  return {
    get(path) {
      const values = read.get(path)
      return values ? values.effective : keys.get(path)?.schema.safeParse(undefined).data
    },
    withPlace(path) {
      const place = placeOf(path, keys, env, file)
      return place === undefined ? path : `${path} (${place})`
    },
  }
}

/** Returns a key's path, preceded by the source of its value. */
export function withPlace(path: string, keys: ConfigKeys, env: Env, file: YamlFile): string {
  const place = placeOf(path, keys, env, file)
  return place === undefined ? path : `${place}: ${path}`
}

/** Returns the source of a key's value: environment variable, or file and line; undefined for a default. */
function placeOf(key: string, keys: ConfigKeys, env: Env, file?: YamlFile): string | undefined {
  const meta = keys.get(key)?.meta
  if (meta && variableOf(meta, env) !== undefined) return variableName(meta)
  const path = key.split('.')
  return file && getIn(file.values, path) !== undefined ? `${file.file}:${file.lineOf(path)}` : undefined
}

/** Formats a bad value with its file and line, or with its variable. */
export function placedValue({ key, path, message, inFile }: BadValue, file: YamlFile): Issue {
  const line = inFile ? file.lineOf(key.split('.')) : undefined
  return { path: line ? `${file.file}:${line}: ${path}` : path, message }
}

const variableName = ({ env }: KeyMeta) => `environment variable ${env}`
