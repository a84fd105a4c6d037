import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describeIssues, errorMessage, issuesOf, SvcError, z } from '#kernel'
import { PluginError } from './contract.ts'

/** Folder of the built program, some of whose files are loaded only when they are needed. */
const PROGRAM = fileURLToPath(new URL('.', import.meta.url))

/** Returns the place in the plugin's files that an error points at: the file, and the line if it is known. */
export function locateError(error: unknown, origin: string): string {
  if (origin === 'builtin') return origin
  const text = error instanceof Error ? `${error.message}\n${error.stack ?? ''}` : ''
  const own = placesIn(text).filter(place => place.startsWith(`${origin}:`))
  // Our own messages may name another plugin's file, which is not the place of the failure.
  const beside =
    error instanceof SvcError ? [] : placesIn(text).filter(place => place.startsWith(`${dirname(origin)}/`))
  return own[0] ?? beside[0] ?? origin
}

/** Returns an error with the message and the place of what a plugin threw. */
export function failureOf(plugin: string, origin: string, cause: unknown): SvcError {
  return new PluginError({ plugin, where: locateError(cause, origin), problem: problemOf(cause) }, { cause })
}

/** Returns a parser's message without its place and its internal details. */
function problemOf(error: unknown): string {
  const sentence = error instanceof z.ZodError ? describeIssues(issuesOf(error)) : errorMessage(error)
  const missing = missingIn(sentence)
  if (missing) return `Cannot find '${missing}'; ${remedyOf(missing)}`
  return sentence
    .replace(/^(\w*ParseError: .*?):?\n\s*\n[\s\S]*$/, '$1')
    .replace(/\s+\/\S+:\d+:(\d+)\s*$/, ' (column $1)')
    .replace(
      /^\(0 ?, _\w+\.(\w+)\) is not a function$/,
      '$1 is not a function: the module that it is imported from exports no such name',
    )
}

/** Returns the specifier of an import that was not found. */
function missingIn(sentence: string): string | undefined {
  return /^Cannot find (?:module|package) '([^']+)'/.exec(sentence)?.[1]
}

/** Suggests what to import instead of a specifier that was not found. */
function remedyOf(specifier: string): string {
  if (specifier.startsWith(PROGRAM))
    return 'the program on disk was replaced after this process started; restart it with svc restart'
  if (/^[./]/.test(specifier)) return 'there is no such file'
  const name = packageOf(specifier)
  if (!name) return "import a file by its relative path, such as './helper.ts'"
  // The name on npm belongs to another project.
  const how = name === 'svc' ? 'from its checkout with npm install /path/to/svc' : `with npm install ${name}`
  return `install it ${how}; the plugin is then loaded again, or at once with svc plugins reload`
}

/** Returns undefined for names that a tsconfig.json or a package.json may map to folders. */
function packageOf(specifier: string): string | undefined {
  return /^(?!@\/|[./~#])(@[^/]+\/)?[^/]+/.exec(specifier)?.[0]
}

/** Returns the missing package that caused an error. */
export function lackingPackage(error: unknown): string | undefined {
  return packageOf(missingIn(errorMessage(error)) ?? '')
}

/** Returns the places in a stack or message, as `file:line`. */
function placesIn(text: string): string[] {
  return [...text.matchAll(/(\/[^\s()'"]+?):(\d+)(?::\d+)?/g)].map(([, file, line]) => `${file}:${line}`)
}
