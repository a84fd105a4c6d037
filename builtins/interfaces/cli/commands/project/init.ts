import { join, resolve } from 'node:path'
import { errorMessage, type Ports } from '#kernel'
import { succeeds } from '#lib/succeeds'
import type { Context, HandWritten } from '../../context.ts'
import { cannotWrite, makeFile, makeFolder } from '../../project/make-files.ts'
import { copyConfigSchema, SCHEMA_OF, writeConfigSchema, writeProfileSchema } from '../../project/schemas.ts'
import { tsconfig } from '../../project/tsconfig.ts'
import { INTERRUPTED } from '../../screen/interrupt.ts'
import { print, printableLine } from '../../screen/printable.ts'
import { withQuestions } from '../../screen/questions.ts'

/** The user's answers when a project is created; empty without a terminal. */
interface InitAnswers {
  model?: string
  budget_usd?: number
}

function configOf({ model, budget_usd }: InitAnswers): string {
  const daemon = budget_usd === undefined ? '# daemon:' : `daemon:\n  budget_usd: ${budget_usd}`
  const models =
    model === undefined
      ? '# model:\n#   default_model: openai:standard'
      : `model:\n  default_model: ${JSON.stringify(model)}`
  return `${SCHEMA_OF.config}
# Configuration of svc. Every key has a default: set only those that should differ.
# A running daemon applies some keys at its next heartbeat, most only after a restart: svc config get <key> shows which.

${daemon}
#   heartbeat: 10               # seconds between an agent's cycles
#   max_concurrent_agents: 8    # cycles that run at the same time
${models}
# server:
#   api_key: ''                 # key that requests must send in X-Svc-Key; can also be set as SVC_API_KEY
`
}

const IGNORED = ['.svc/', 'logs/']
/** Line of the packaged presets that names the packaged schema. */
const SHIPPED_SCHEMA = /^# yaml-language-server: .*\n/

/** Creates the missing parts of a project and changes no existing ones. */
const init: HandWritten = async ({ quiet }, context) => {
  const { ports, json } = context
  const root = resolve(context.named ?? ports.env.SVC_ROOT ?? process.cwd())
  const isNew = !(await succeeds(ports.files.stat(join(root, '.svc', 'config.yaml'))))
  const wishes = isNew && quiet !== true && !json ? await ask(context) : {}
  if (!wishes) return INTERRUPTED
  const result = await makeProject(root, context, { wishes })
  if (quiet === true) return 0
  const lines = [...result.parts.map(({ name, made }) => `  ${made ? 'created' : 'kept   '}  ${name}`), '']
  const text = [`Project: ${root}`, ...lines, NEXT, modelLine(wishes, isNew)].join('\n')
  return print(context, { root, ...result }, text)
}
export default init

const NEXT = 'Next: svc serve --with-daemon --profiles coder,researcher'

/** Returns which model agents call. The configuration of an existing project is not read. */
function modelLine({ model }: InitAnswers, isNew: boolean): string {
  if (model !== undefined) return `Agents call ${model} (model.default_model in .svc/config.yaml).`
  const usual = 'the model set by OPENAI_API_KEY or OPENAI_BASE_URL; without either, a simulated model.'
  return isNew
    ? `Agents call ${usual}`
    : `Agents call model.default_model of .svc/config.yaml if it is set, else ${usual}`
}

/** Asks two questions at most, and only on a terminal. @returns undefined after Ctrl-C */
async function ask({ terminal, ports }: Context): Promise<InitAnswers | undefined> {
  if (process.stdin.isTTY !== true || terminal.columns === undefined) return {}
  return withQuestions(async question => {
    const usual = ports.env.OPENAI_API_KEY || ports.env.OPENAI_BASE_URL ? 'openai:standard' : 'a simulated one'
    const model = await question(
      `Which model should agents call, such as openai:standard or ollama:llama3.2? (Enter: ${usual}) `,
    )
    const dollars = await question('What is the maximum that agents may spend, in US dollars? (Enter: no limit) ')
    const budget_usd = Number(dollars.replace(/^\$/, ''))
    // Without a warning, a mistyped limit would look as if it were set.
    if (dollars !== '' && !(budget_usd >= 0 && budget_usd < 1e6)) {
      terminal.err(
        `svc: warning: "${printableLine(dollars)}" is not an amount of dollars, so no limit is set; set one with: svc config set daemon.budget_usd 5`,
      )
    }
    const named = model.replaceAll(/\s+/g, '')
    return { ...(named ? { model: named } : {}), ...(budget_usd > 0 && budget_usd < 1e6 ? { budget_usd } : {}) }
  })
}

/**
 * Creates each missing part of a project.
 * @returns which parts were created
 * @throws CannotWriteError
 */
export async function makeProject(
  root: string,
  context: Context,
  { wishes = {}, presets = [] }: { wishes?: InitAnswers; presets?: readonly string[] } = {},
): Promise<{ parts: { name: string; made: boolean }[] }> {
  const results: { name: string; made: boolean }[] = []
  await makeFolder(context.ports.files, root, 0o700).catch(error => {
    throw cannotWrite(root, error)
  })
  for (const [name, make] of parts(root, wishes, presets, context)) {
    const made = await make().catch(error => {
      throw cannotWrite(join(root, name), error)
    })
    results.push({ name, made })
  }
  return { parts: results }
}

/** Returns the parts, each with a function that creates it if it is missing and returns whether it did. */
function parts(
  root: string,
  wishes: InitAnswers,
  presets: readonly string[],
  context: Context,
): [string, () => Promise<boolean>][] {
  const { program, ports } = context
  const { files } = ports
  const at = (name: string) => join(root, name)
  return [
    ['.svc/', () => makeFolder(files, at('.svc'), 0o700)],
    ['.svc/config.yaml', () => makeFile(files, at('.svc/config.yaml'), configOf(wishes), 0o600)],
    ['plugins/', () => makeFolder(files, at('plugins'))],
    ['profiles/', () => copyFolder(files, join(program.packageRoot, 'profiles'), at('profiles'), presets)],
    ['tsconfig.json', () => makeFile(files, at('tsconfig.json'), tsconfig(root, program.packageRoot))],
    ['.svc/schema/', () => writeSchemas(root, context)],
    ['.gitignore', () => addLines(files, at('.gitignore'), IGNORED)],
  ]
}

/** Writes the schemas for editors. Rewritten each time, because the plugins of a project define configuration keys. */
async function writeSchemas(root: string, context: Context): Promise<boolean> {
  const profile = await writeProfileSchema(root, context)
  try {
    return (await writeConfigSchema(root, context)) || profile
  } catch (error) {
    // The user may be about to repair the configuration, so its errors do not prevent creating the rest.
    const made = await copyConfigSchema(root, context)
    const state = made ? 'lacks the keys of plugins' : 'was not written'
    context.terminal.err(`svc: warning: .svc/schema/config.json ${state}: ${errorMessage(error)}`)
    return made || profile
  }
}

/**
 * Copies the packaged presets, for users to read and change. A project's profile takes precedence over the packaged one
 * of that name.
 */
async function copyFolder(files: Ports['files'], from: string, to: string, only: readonly string[]): Promise<boolean> {
  if (!(await makeFolder(files, to))) return false
  const names = await files.readdir(from).catch(() => [])
  const presets = names.filter(name => /\.ya?ml$/.test(name))
  const wanted = presets.filter(name => only.length === 0 || only.includes(name.replace(/\.ya?ml$/, '')))
  for (const name of wanted) {
    const text = await files.readFile(join(from, name), 'utf8')
    await files.writeFile(join(to, name), text.replace(SHIPPED_SCHEMA, `${SCHEMA_OF.profile}\n`))
  }
  return true
}

async function addLines(files: Ports['files'], path: string, lines: readonly string[]): Promise<boolean> {
  const text = await files.readFile(path, 'utf8').catch(() => '')
  const there = new Set(text.split('\n').map(line => line.trim().replace(/^\//, '')))
  const missing = lines.filter(line => !there.has(line))
  if (missing.length === 0) return false
  await files.appendFile(path, `${text === '' || text.endsWith('\n') ? '' : '\n'}${missing.join('\n')}\n`)
  return true
}
