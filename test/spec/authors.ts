import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, symlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { bareEnvironment } from '../support/cli.ts'

export const ROOT = resolve(import.meta.dirname, '../..')

export interface ProcessResult {
  code: number
  output: string
}

/** Links packages into a project as an installation would: this one, and what its tests need. */
export async function install(project: string, ...packages: string[]): Promise<void> {
  for (const name of packages) {
    const place = join(project, 'node_modules', name)
    await mkdir(dirname(place), { recursive: true })
    await symlink(name === 'svc' ? ROOT : join(ROOT, 'node_modules', name), place)
  }
}

/** Runs `npx tsc` in a project, with its own tsconfig.json. */
export function tsc(project: string): Promise<ProcessResult> {
  return run(project, 'typescript/bin/tsc', '--noEmit', '--project', project)
}

/** Runs `npx tsx` on a file of a project. */
export function tsx(project: string, file: string): Promise<ProcessResult> {
  return run(project, 'tsx/dist/cli.mjs', file)
}

/** Runs `npx vitest run` in a project, with a time limit for a busy machine. */
export function vitest(project: string): Promise<ProcessResult> {
  return run(project, 'vitest/vitest.mjs', 'run', '--testTimeout=60000')
}

async function run(cwd: string, program: string, ...words: string[]): Promise<ProcessResult> {
  const env = { ...bareEnvironment(), NO_COLOR: '1' }
  const child = spawn(process.execPath, [join(ROOT, 'node_modules', program), ...words], { cwd, env })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', text => {
      output += text
    })
  }
  const [code] = (await once(child, 'close')) as [number]
  return { code, output }
}
