import { spawn } from 'node:child_process'
import { cp, mkdir, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const HELP = `npm run test:nodes -- [--node <major>]… [--keep] [what vitest takes]…

Runs the suite, or the files named, on Node 20, 22 and 24: on the one that is installed in this folder, on each other in a
copy with a native module of its own. npm's node-<platform>-<arch> package carries the program and its headers.
--keep leaves the copies for a next run.`

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const MAJORS = ['20', '22', '24']
/** Not copied: rebuilt in the copy, or not part of the sources. */
const LEFT_OUT = new Set(['node_modules', 'dist', '.git', '.svc', 'logs', 'workspaces'])

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { node: { type: 'string', multiple: true }, keep: { type: 'boolean' }, help: { type: 'boolean' } },
})
if (values.help) console.log(HELP)
else process.exitCode = await suites(values.node ?? MAJORS)

async function suites(majors: readonly string[]): Promise<number> {
  const outcomes: [string, boolean][] = []
  for (const major of majors) outcomes.push([major, await suite(major)])
  for (const [major, passed] of outcomes) console.log(`Node ${major}: ${passed ? 'passed' : 'FAILED'}`)
  return outcomes.every(([, passed]) => passed) ? 0 : 1
}

/** @returns whether the suite passes on the newest Node with this major version */
async function suite(major: string): Promise<boolean> {
  if (process.versions.node.startsWith(`${major}.`)) return vitest(process.execPath, ROOT)
  const place = join(tmpdir(), 'svc-nodes', major)
  try {
    const node = await installNode(major, place)
    const tree = join(place, 'svc')
    await copySources(tree)
    await rebuilt(node, tree, place)
    return await vitest(join(node, 'bin', 'node'), tree)
  } finally {
    if (!values.keep) await rm(place, { recursive: true, force: true })
  }
}

function vitest(node: string, cwd: string): Promise<boolean> {
  console.log(`\n${node} in ${cwd}`)
  return succeeds(node, [join('node_modules', 'vitest', 'vitest.mjs'), 'run', ...positionals], cwd, resolve(node, '..'))
}

/** Installs a Node of this major version and returns its folder: bin/, and include/ with the headers. */
async function installNode(major: string, place: string): Promise<string> {
  const name = `node-${process.platform}-${process.arch}`
  const folder = join(place, 'node_modules', name)
  if (await exists(folder)) return folder
  await mkdir(place, { recursive: true })
  await writeFile(join(place, 'package.json'), '{"private":true}')
  await must('npm', ['install', '--no-audit', '--no-fund', `${name}@${major}`], place)
  return folder
}

/** Copies the sources and hard-links the packages, except those with caches or a binary for one version of Node. */
async function copySources(tree: string): Promise<void> {
  await rm(tree, { recursive: true, force: true })
  await cp(ROOT, tree, {
    recursive: true,
    filter: path => !LEFT_OUT.has(path.slice(ROOT.length).split('/')[0] ?? ''),
  })
  // A link to the whole folder would resolve to the binary beside it.
  await must('cp', ['-al', await realpath(join(ROOT, 'node_modules')), join(tree, 'node_modules')], tree)
  for (const cache of ['.vite', '.vitest', '.cache', 'better-sqlite3'])
    await rm(join(tree, 'node_modules', cache), { recursive: true, force: true })
}

/** Builds better-sqlite3 for this Node, from its prebuilt binary or from source, and reuses it while it is kept. */
async function rebuilt(node: string, tree: string, place: string): Promise<void> {
  const from = join(ROOT, 'node_modules', 'better-sqlite3')
  const { version } = JSON.parse(await readFile(join(from, 'package.json'), 'utf8')) as { version: string }
  const kept = join(place, `better-sqlite3-${version}`)
  const module = join(tree, 'node_modules', 'better-sqlite3')
  if (!(await exists(kept))) {
    await cp(from, module, { recursive: true, filter: path => path !== join(from, 'build') })
    await must('npm', ['rebuild', 'better-sqlite3'], tree, {
      PATH: `${join(node, 'bin')}${delimiter}${process.env.PATH}`,
      npm_config_nodedir: node,
    })
    await cp(module, kept, { recursive: true })
    await rm(module, { recursive: true })
  }
  await cp(kept, module, { recursive: true })
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined
}

async function must(command: string, words: string[], cwd: string, env: Record<string, string> = {}): Promise<void> {
  if (!(await succeeds(command, words, cwd, undefined, env))) throw new Error(`${command} ${words.join(' ')} failed`)
}

function succeeds(
  command: string,
  words: string[],
  cwd: string,
  bin?: string,
  env: Record<string, string> = {},
): Promise<boolean> {
  const path = bin ? { PATH: `${bin}${delimiter}${process.env.PATH}` } : {}
  const child = spawn(command, words, { cwd, stdio: 'inherit', env: { ...process.env, ...path, ...env } })
  return new Promise((done, failed) => child.once('error', failed).once('exit', code => done(code === 0)))
}
