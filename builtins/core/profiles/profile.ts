import { issuesOf, z } from '#kernel'
import { isTree, type Tree } from '#lib/tree'
import { BadFileError, parseYaml, type YamlFile } from '#lib/yaml'
import { Profile } from './contract.ts'

/**
 * Makes a profile of the text of its file. A key without a value counts as absent, so that its default applies.
 * @param shown the file's path as errors name it
 * @param stem the file's name without its ending: the profile's name when the file gives none
 * @param defaults what stands where the file says nothing
 * @returns the profile, a sentence for each key that means nothing, and the lines of its keys
 * @throws BadFileError with the line of the first thing that is wrong, and all of them in `errors`
 */
export function parseProfile(
  shown: string,
  text: string,
  stem: string,
  defaults: Partial<Profile> = {},
): { profile: Profile; unknown: string[]; lineOf: YamlFile['lineOf'] } {
  const yaml = parseYaml(shown, text)
  const values = renameKeys(withoutNulls(yaml.values))
  const parsed = Profile.safeParse({ name: stem, role: 'general agent', ...defaults, ...values })
  if (!parsed.success) throw badProfile(yaml, parsed.error)
  const { temperature, max_tokens, parameters } = parsed.data
  // What the file gives goes before what is set for the model, as all parameters of a profile do.
  const given = {
    ...(values.temperature === undefined ? {} : { temperature }),
    ...(values.max_tokens === undefined ? {} : { max_tokens }),
    ...parameters,
  }
  const profile = { ...parsed.data, parameters: given }
  const unknown = unknownKeys(values, Profile).map(path => {
    const line = yaml.lineOf(path)
    return `${shown}${line ? `:${line}` : ''}: ${path.join('.')} is not a key of profiles and has no effect`
  })
  // It is recorded many times unchanged: a frozen object is recognized without comparing it.
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

/** `persona.goals` by the name that older files have for it. */
function renameKeys(values: Tree): Tree {
  if (!isTree(values.persona) || !('long_term_goals' in values.persona)) return values
  const { long_term_goals, ...persona } = values.persona
  return { ...values, persona: { goals: long_term_goals, ...persona } }
}

function withoutNulls(tree: Tree): Tree {
  const kept = Object.entries(tree).filter(([, value]) => value !== null)
  return Object.fromEntries(kept.map(([key, value]) => [key, isTree(value) ? withoutNulls(value) : value]))
}

function unknownKeys(values: Tree, schema: z.ZodType, above: string[] = []): string[][] {
  const shape = shapeOf(schema)
  if (!shape) return []
  return Object.entries(values).flatMap(([key, value]) => {
    const path = [...above, key]
    if (!Object.hasOwn(shape, key)) return [path]
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
