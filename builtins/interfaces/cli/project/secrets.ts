import { join } from 'node:path'
import type { Ports } from '#kernel'
import { maskJson, maskText, secretsIn } from '#lib/secrets'
import { isTree } from '#lib/tree'
import { readYaml } from '#lib/yaml'

/** Pattern for names of configuration keys and svc variables whose values are secrets. */
const SECRET_NAME = /key|token|secret|password/i
/** Pattern for URLs with a password. */
const CREDENTIALS = /^[\w+.-]+:\/\/[^/@]*:[^/@]+@/
/** Minimum length of a masked value; a shorter one cannot be distinguished from other text. */
const SHORTEST = 8

/**
 * Returns a function that masks secrets in a line, JSON or not, without opening the project. Secrets come from the
 * environment and the configuration file.
 */
export async function lineMasker(root: string, { env, files }: Pick<Ports, 'env' | 'files'>) {
  const file = await readYaml(files, join(root, '.svc', 'config.yaml')).catch(() => undefined)
  const own = Object.entries(env).filter(([name]) => name.startsWith('SVC_'))
  const secrets = [...secretsIn(env), ...secretsBelow(Object.fromEntries(own)), ...secretsBelow(file?.values)]
  return (line: string): string => {
    try {
      return maskJson(line, secrets)
    } catch {
      return maskText(line, secrets)
    }
  }
}

function secretsBelow(value: unknown, name = ''): string[] {
  if (isTree(value)) return Object.entries(value).flatMap(([below, each]) => secretsBelow(each, below))
  if (Array.isArray(value)) return value.flatMap(each => secretsBelow(each, name))
  if (typeof value !== 'string' || value.length < SHORTEST) return []
  return SECRET_NAME.test(name) || CREDENTIALS.test(value) ? [value] : []
}
