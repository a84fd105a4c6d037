import { join } from 'node:path'
import type { Ports } from '#kernel'
import { maskJson, maskText, secretsIn } from '#lib/secrets'
import { isTree } from '#lib/tree'
import { readYaml } from '#lib/yaml'

/** Keys of the configuration, and variables of svc, whose values are secrets. */
const SECRET_NAME = /key|token|secret|password/i
/** An address with a password. */
const CREDENTIALS = /^[\w+.-]+:\/\/[^/@]*:[^/@]+@/
/** A shorter value cannot be distinguished from other text. */
const SHORTEST = 8

/**
 * Returns what masks secrets in a line, JSON or not, without bringing up the project: those of the environment, and of the
 * configuration file as it stands.
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
