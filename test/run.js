/**
 * `npm test` checks everything and tests the modules; with `--all` also the whole program. `npm test -- memory` runs the
 * tests whose path contains a name, and nothing else.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const CHECKS = [
  ['biome', 'check', '--diagnostic-level=error', '.'],
  ['tsc', '--noEmit'],
  ['tsc', '-p', 'dashboard'],
]

/** Runs a tool of node_modules. @returns its exit code, and its output where that is piped */
async function run([tool, ...words], stdio = 'inherit') {
  const child = spawn(join(ROOT, 'node_modules', '.bin', tool), words, { cwd: ROOT, stdio })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', text => (output += text))
  const code = await new Promise((done, failed) => child.once('error', failed).once('close', done))
  return { code: code ?? 1, output }
}

const words = process.argv.slice(2)
const names = words.filter(word => word !== '--all')
const results = names.length === 0 ? await Promise.all(CHECKS.map(check => run(check, 'pipe'))) : []
const failed = results.filter(({ code }) => code !== 0)
for (const { output } of failed) process.stderr.write(output)
if (failed.length > 0) process.exit(1)
const projects = words.length === 0 ? ['--project', 'modules', '--project', 'alone'] : ['--project', '!trials']
const { code } = await run(['vitest', 'run', ...projects, ...names])
process.exit(code)
