import { readFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Plugin } from '#interfaces/plugins-admin/contract'
import { project } from '../cli/project.ts'
import { svc, type TempDir } from '../support/index.ts'

/** Endless loop that never yields. */
export const SPIN = 'while (true) {}'

/** Returns a plugin file: its name in line 3, the body of `setup` from line 4 on. */
export function plugin(name: string, setup: string, above = ''): string {
  return `import { definePlugin, z } from 'svc'\n${above}\nexport default definePlugin({ name: '${name}', setup(svc) {\n${setup}\n} })\n`
}

/** Creates a project with such plugins; its daemon, whichever process that is by then, ends with the test. */
export async function guardedProject(limit_s: number, plugins: Readonly<Record<string, string>>): Promise<TempDir> {
  const config = `daemon:\n  heartbeat: 0.2\nmodel:\n  sim_delay: 0\nwatchdog:\n  limit: ${limit_s}\n`
  const files = Object.entries(plugins).map(([name, text]) => [`plugins/${name}.ts`, text])
  const dir = await project({ '.svc/config.yaml': config, ...Object.fromEntries(files) })
  onTestFinished(async () => {
    await svc(['stop', '--timeout', '1'], { cwd: dir.path })
    await dir[Symbol.asyncDispose]()
  })
  return dir
}

/** Returns the plugins of the daemon, by name. */
export async function pluginsOf(dir: TempDir): Promise<Record<string, Plugin>> {
  const plugins = (await get(join(dir.path, '.svc/daemon.sock'), '/plugins')) as Plugin[]
  return Object.fromEntries(plugins.map(each => [each.name, each]))
}

/** Returns the PID of the project's daemon. */
export async function daemonOf(dir: TempDir): Promise<number> {
  return Number(await readFile(join(dir.path, '.svc/daemon.pid'), 'utf8'))
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

function get(socketPath: string, path: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    request({ socketPath, path, headers: { host: 'localhost' } }, async answer => {
      const text = (await answer.toArray()).join('')
      resolve(JSON.parse(text))
    })
      .once('error', reject)
      .end()
  })
}
