import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { type Ports, sentenceOf } from '#kernel'
import type { Context, HandWritten } from '../context.ts'
import { CannotWriteError } from '../contract.ts'

const CONFIG = `# Configuration of svc. Every key has a default: write down only what should differ.
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
      throw new CannotWriteError({ path: join(root, name), ...explain(error) }, { cause: error })
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
function parts(root: string, { house, ports }: Context): [string, () => Promise<boolean>][] {
  const { files } = ports
  const at = (name: string) => join(root, name)
  return [
    ['.svc/', () => makeFolder(files, at('.svc'), 0o700)],
    ['.svc/config.yaml', () => makeFile(files, at('.svc/config.yaml'), CONFIG, 0o600)],
    ['plugins/', () => makeFolder(files, at('plugins'))],
    ['profiles/', () => copyFolder(files, join(house.packageRoot, 'profiles'), at('profiles'))],
    ['tsconfig.json', () => makeFile(files, at('tsconfig.json'), tsconfig(root, house.packageRoot))],
    ['.gitignore', () => addLines(files, at('.gitignore'), IGNORED)],
  ]
}

async function makeFolder(files: Ports['files'], path: string, mode?: number): Promise<boolean> {
  const made = await files.mkdir(path, { recursive: true, ...(mode === undefined ? {} : { mode }) })
  return made !== undefined
}

async function makeFile(files: Ports['files'], path: string, text: string, mode = 0o644): Promise<boolean> {
  try {
    await files.writeFile(path, text, { flag: 'wx', mode })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
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

/** So that an editor knows what plugins import. Where the package is not installed in the project, its place is named. */
function tsconfig(root: string, packageRoot: string): string {
  const types = join(packageRoot, 'dist', 'types')
  const paths = {
    svc: [join(types, 'index.d.ts')],
    'svc/testing': [join(types, 'test', 'support', 'index.d.ts')],
  }
  const compilerOptions = {
    ...{ target: 'es2023', module: 'preserve', strict: true, noEmit: true, skipLibCheck: true },
    // Plugins are modules, whatever package.json says of the rest of the folder.
    ...{ allowImportingTsExtensions: true, moduleDetection: 'force' },
    ...(canResolve(root) ? {} : { paths }),
  }
  return `${JSON.stringify({ compilerOptions, include: ['plugins', '.svc/plugins'] }, null, 2)}\n`
}

function canResolve(root: string): boolean {
  try {
    createRequire(join(root, 'plugins', 'a.js')).resolve('svc/package.json')
    return true
  } catch {
    return false
  }
}

function explain(error: unknown): { problem: string; remedy: string } {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'EACCES' || code === 'EPERM') {
    return { problem: 'this user may not write there', remedy: 'take a folder of your own, or change its mode' }
  }
  if (code === 'EROFS') return { problem: 'the file system is read-only', remedy: 'take a folder that can be written' }
  if (code === 'ENOTDIR' || code === 'EEXIST') {
    return { problem: 'a file stands where a folder must be', remedy: 'move it away, or take another folder' }
  }
  return { problem: sentenceOf(error), remedy: 'take another folder' }
}
