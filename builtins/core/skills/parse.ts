import { issuesOf, z } from '#kernel'
import { oneLine, removeControlCharacters } from '#lib/sanitize'
import { BadFileError, parseYaml } from '#lib/yaml'

const FRONT_MATTER = /^---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/

const FrontMatter = z.object({
  name: z
    .string()
    .max(64)
    .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'must consist of a-z, 0-9 and single hyphens between them'),
  description: z.string().trim().min(1).max(1024),
  license: z.string().nullish(),
  'allowed-tools': z.string().nullish(),
  metadata: z.record(z.string(), z.coerce.string()).nullish(),
})

/**
 * Parses a SKILL.md.
 * @param shown the file's path for error messages
 * @param folder name of its folder, which must equal the skill's name
 * @throws BadFileError
 */
export function parseSkill(shown: string, text: string, folder: string) {
  const found = FRONT_MATTER.exec(text)
  if (!found) {
    const remedy = 'begin it with the lines "---", "name: …", "description: …" and "---"'
    throw new BadFileError({ file: shown, line: 1, problem: 'has no front matter', remedy })
  }
  const yaml = parseYaml(shown, found[1]!)
  const parsed = FrontMatter.safeParse(yaml.values)
  if (!parsed.success) {
    const problem = issuesOf(parsed.error)
      .map(({ path, message }) => `${path}: ${message.charAt(0).toLowerCase()}${message.slice(1)}`)
      .join('; ')
    const line = (yaml.lineOf(parsed.error.issues[0]?.path.map(String) ?? []) ?? 0) + 1
    throw new BadFileError({ file: shown, line, problem })
  }
  const { name, description, license, metadata, ...rest } = parsed.data
  if (name !== folder) {
    const problem = `has the name ${name}, but its folder has the name ${folder}`
    throw new BadFileError({ file: shown, line: 2, problem, remedy: 'give both the same name' })
  }
  return {
    name,
    description: oneLine(removeControlCharacters(description)),
    license: license ?? null,
    allowed_tools: rest['allowed-tools'] ?? null,
    metadata: metadata ?? {},
    // Its readers see the same text as agents: nothing in it is invisible.
    body: removeControlCharacters(text.slice(found[0].length)),
  }
}
