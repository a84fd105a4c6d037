import { join, resolve } from 'node:path'
import { type Ports, sentenceOf } from '#kernel'
import type { Context, HandWritten } from '../context.ts'
import { cannotWrite, makeFile, makeFolder } from '../making.ts'
import { SCHEMA_OF, writeConfigSchema, writeProfileSchema } from '../schemas.ts'
import { tsconfig } from '../tsconfig.ts'

const CONFIG = `${SCHEMA_OF.config}
# Configuration of svc. Every key has a default: write down only what should differ.
# A running daemon applies most changes on its next heartbeat; those of server.* need a restart.

# daemon:
#   heartbeat: 10               # seconds between an agent's cycles
#   max_concurrent_agents: 8    # cycles that run at the same time
# model:
#   default_model: openai:standard
# server:
#   api_key: ''                 # what X-Svc-Key must hold; SVC_API_KEY is another way to set it
`

const IGNORED = ['.svc/', 'logs/']

/** Makes what a project needs where it is missing, and touches nothing that is there. */
const init: HandWritten = async ({ quiet }, context) => {
  const root = resolve(context.named ?? context.ports.env.SVC_ROOT ?? process.cwd())
  const told: string[] = []
  for (const [name, make] of parts(root, context)) {
    const made = await make().catch(error => {
      throw cannotWrite(join(root, name), error)
    })
    told.push(`  ${made ? 'made' : 'kept'}  ${name}`)
  }
  if (quiet === true) return 0
  context.terminal.out(
    [
      `Project: ${root}`,
      ...told,
      '',
      'Next: svc serve --with-daemon --profiles coder,researcher',
      'Agents call the model of OPENAI_API_KEY or OPENAI_BASE_URL; without either, a simulated one.',
    ].join('\n'),
  )
  return 0
}
export default init

/** Each part makes itself if it is missing, and says whether it did. */
function parts(root: string, context: Context): [string, () => Promise<boolean>][] {
  const { house, ports } = context
  const { files } = ports
  const at = (name: string) => join(root, name)
  return [
    ['.svc/', () => makeFolder(files, at('.svc'), 0o700)],
    ['.svc/config.yaml', () => makeFile(files, at('.svc/config.yaml'), CONFIG, 0o600)],
    ['plugins/', () => makeFolder(files, at('plugins'))],
    ['profiles/', () => copyFolder(files, join(house.packageRoot, 'profiles'), at('profiles'))],
    ['tsconfig.json', () => makeFile(files, at('tsconfig.json'), tsconfig(root, house.packageRoot))],
    ['.svc/schema/', () => writeSchemas(root, context)],
    ['.gitignore', () => addLines(files, at('.gitignore'), IGNORED)],
  ]
}

/** For editors; written anew each time, since what a project may configure depends on its plugins. */
async function writeSchemas(root: string, context: Context): Promise<boolean> {
  const profile = await writeProfileSchema(root, context)
  try {
    return (await writeConfigSchema(root, context)) || profile
  } catch (error) {
    // A mistake in the configuration is what one comes to repair; it keeps nothing else from being made.
    context.terminal.err(`svc: warning: .svc/schema/config.json was not written: ${sentenceOf(error)}`)
    return profile
  }
}

/** The shipped presets, to read and to change: a project's own profile of a name goes before the packaged one. */
async function copyFolder(files: Ports['files'], from: string, to: string): Promise<boolean> {
  if (!(await makeFolder(files, to))) return false
  const names = await files.readdir(from).catch(() => [])
  for (const name of names) await files.copyFile(join(from, name), join(to, name))
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
