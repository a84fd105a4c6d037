import type { Issue, Ports } from '#kernel'
import { getIn, isTree, leaves, same, type Tree } from '#lib/tree'
import { forbiddenPath, isForbiddenKey, type YamlChange, type YamlFile } from '#lib/yaml'
import { type ConfigKeys, isMapping, type KnownKey, refuse } from './config-keys.ts'
import { variableOf } from './config-values.ts'

/** Replaces a secret wherever configuration is shown. */
export const MASK = '***'
/** Maximum nesting depth of a patch. */
const MAX_DEPTH = 16
/** Maximum number of issues reported for one patch. */
const MAX_ISSUES = 20
/** Masks the values of unknown keys with these names. */
const SECRET_NAME = /key|token|secret|password/i

/**
 * Returns the changes that a patch asks for, one for each value. @throws InvalidConfigError for unknown or invalid keys
 */
export function changesOf(patch: Tree, keys: ConfigKeys, yaml: YamlFile, env: Ports['env']): YamlChange[] {
  const changes: YamlChange[] = []
  const issues: Issue[] = []
  const addIssue = (path: readonly string[], message: string) => issues.push({ path: path.join('.'), message })
  const walk = (tree: Tree, above: readonly string[]) => {
    for (const [step, value] of Object.entries(tree)) {
      if (issues.length >= MAX_ISSUES) return
      const path = [...above, step]
      const key = keys.findKey(path)
      if (isForbiddenKey(step)) addIssue(path, 'is not a known key')
      else if (path.length > MAX_DEPTH) addIssue(path, `is nested more than ${MAX_DEPTH} levels deep`)
      else if (isTree(value) && isMerged(path, value, keys)) walk(value, path)
      else if (key) {
        const forbidden = forbiddenPath(value)
        if (forbidden) addIssue([...path, ...forbidden], 'is not a known key')
        else if (!isStated(key, path, value, yaml, env)) changes.push({ path, value })
      } else if (keys.isSection(path)) addIssue(path, 'is a section: it takes a mapping of keys')
      else if (!isAsShown(path, value, keys, yaml)) addIssue(path, keys.unknownKeyMessage(path))
    }
  }
  walk(patch, [])
  if (issues.length > 0) refuse(issues)
  return changes
}

/** Whether a mapping of a patch is merged into the present values, rather than a value of the wrong type. */
function isMerged(path: readonly string[], value: Tree, keys: ConfigKeys): boolean {
  const key = keys.findKey(path)
  if (!key) return keys.isSection(path) || Object.keys(value).length > 0
  return isMapping(key.schema) || key.path !== path.join('.')
}

/** Returns whether a patched value needs no write: a masked secret, or a value that the environment already sets. */
export function isStated(
  key: KnownKey,
  path: readonly string[],
  value: unknown,
  { values }: YamlFile,
  env: Ports['env'],
): boolean {
  if (key.meta.secret && value === MASK) return true
  return variableOf(key.meta, env) !== undefined && getIn(values, path) === undefined && same(key.effective, value)
}

/** Returns whether an unknown key of a patch is unchanged from the file. */
function isAsShown(path: readonly string[], value: unknown, keys: ConfigKeys, yaml: YamlFile): boolean {
  return unknownIn(yaml, keys).some(unknown => same(unknown.path, path) && same(unknown.shown, value))
}

/** Returns unknown keys of the file with their values, without secrets. */
export function unknownIn({ values }: YamlFile, keys: ConfigKeys): { path: string[]; shown: unknown }[] {
  const isEmpty = (path: string[], value: unknown) => keys.isSection(path) && (value === null || isTree(value))
  return leaves(values)
    .filter(([path, value]) => !keys.findKey(path) && !isEmpty(path, value))
    .map(([path, value]) => ({ path, shown: SECRET_NAME.test(path.at(-1)!) && value ? MASK : value }))
}
