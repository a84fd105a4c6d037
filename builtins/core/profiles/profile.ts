import { closestMatches, type Issue, issuesOf, z } from '#kernel'
import { isTree, type Tree } from '#lib/tree'
import { BadFileError, parseYaml, type YamlFile } from '#lib/yaml'
import { Profile } from './contract.ts'

export interface ParsedProfile {
  profile: Profile
  /** Unknown keys, each with its file and line as path. */
  unknown: Issue[]
  /** Returns the line of a key. */
  lineOf: YamlFile['lineOf']
}

/**
 * Parses a profile file. A key without a value counts as absent, so that its default applies.
 * @param shown the file's path for error messages
 * @param stem the file's name without extension: the profile's name if the file gives none
 * @param defaults values for keys that the file omits
 * @throws BadFileError with the line of the first error, and all of them in `errors`
 */
export function parseProfile(
  shown: string,
  text: string,
  stem: string,
  defaults: Partial<Profile> = {},
): ParsedProfile {
  const yaml = parseYaml(shown, text)
  const values = renameKeys(withoutNulls(yaml.values))
  const parsed = Profile.safeParse({ name: stem, role: 'general agent', ...defaults, ...values })
  if (!parsed.success) throw badProfile(yaml, parsed.error)
  const { temperature, max_tokens, parameters } = parsed.data
  // The file's values take precedence over those set for the model, like all parameters of a profile.
  const given = {
    ...(values.temperature === undefined ? {} : { temperature }),
    ...(values.max_tokens === undefined ? {} : { max_tokens }),
    ...parameters,
  }
  const profile = { ...parsed.data, parameters: given }
  const unknown = unknownKeys(values, Profile).map(({ path, closest }) => {
    const line = yaml.lineOf(path)
    const hint = closest ? `; did you mean ${closest}?` : ''
    const message = `${path.join('.')} is not a key of profiles and has no effect${hint}`
    return { path: `${shown}${line ? `:${line}` : ''}`, message }
  })
  // The profile is recorded many times unchanged: a frozen object is recognized without comparing it.
  return { profile: Object.freeze(profile), unknown, lineOf: yaml.lineOf }
}

function badProfile(yaml: YamlFile, error: z.ZodError): Error {
  const errors = issuesOf(error).map(issue => ({ ...issue, message: lowerFirst(issue.message) }))
  const problem = errors.map(({ path, message }) => `${path}: ${message}`).join('; ')
  const line = yaml.lineOf(error.issues[0]?.path.map(String) ?? [])
  return new BadFileError({ file: yaml.file, line, problem }, { errors })
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}

/** Renames `persona.long_term_goals` of older files to `persona.goals`. */
function renameKeys(values: Tree): Tree {
  if (!isTree(values.persona) || !('long_term_goals' in values.persona)) return values
  const { long_term_goals, ...persona } = values.persona
  return { ...values, persona: { goals: long_term_goals, ...persona } }
}

function withoutNulls(tree: Tree): Tree {
  const kept = Object.entries(tree).filter(([, value]) => value !== null)
  return Object.fromEntries(kept.map(([key, value]) => [key, isTree(value) ? withoutNulls(value) : value]))
}

function unknownKeys(
  values: Tree,
  schema: z.ZodType,
  above: string[] = [],
): { path: string[]; closest: string | undefined }[] {
  const shape = shapeOf(schema)
  if (!shape) return []
  return Object.entries(values).flatMap(([key, value]) => {
    const path = [...above, key]
    if (!Object.hasOwn(shape, key)) return [{ path, closest: closestMatches(key, Object.keys(shape))[0] }]
    return isTree(value) ? unknownKeys(value, shape[key]!, path) : []
  })
}

function shapeOf(schema: z.ZodType): Record<string, z.ZodType> | undefined {
  let type = schema
  while (type instanceof z.ZodDefault || type instanceof z.ZodPrefault || type instanceof z.ZodNullable) {
    type = type.unwrap() as z.ZodType
  }
  return type instanceof z.ZodObject ? (type.shape as Record<string, z.ZodType>) : undefined
}
