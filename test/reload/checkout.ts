import { cp, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { FAST, project } from '../cli/project.ts'
import { RunningSvc, svc } from '../support/index.ts'
import { tempDir } from '../support/temp.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

interface ListedPlugin {
  name: string
  origin: string
  state: string
  error: string | null
  swaps: number
  load_ms: number
}

/** A copy of this checkout whose sources a test may change; it is removed at the end of its block. */
export async function copyOfCheckout() {
  const checkout = await tempDir()
  const parts = ['builtins', 'kernel', 'embed', 'profiles', 'dist', 'index.ts', 'package.json']
  for (const part of parts)
    await cp(join(ROOT, part), join(checkout.path, part), { recursive: true, preserveTimestamps: true })
  await symlink(join(ROOT, 'node_modules'), join(checkout.path, 'node_modules'))
  /** Changes a file. @returns a function that restores it */
  const edit = async (file: string, from: string | RegExp, to: string) => {
    const path = join(checkout.path, file)
    const before = await readFile(path, 'utf8')
    const after = before.replace(from, to)
    expect(after, file).not.toBe(before)
    await writeFile(path, after)
    return () => writeFile(path, before)
  }
  return {
    edit,
    comment: (file: string) => edit(file, /$/, '// edited\n'),
    serve: (...words: string[]) => serving(join(checkout.path, 'dist/svc.js'), words),
    [Symbol.asyncDispose]: () => checkout[Symbol.asyncDispose](),
  }
}

/** Runs the service as a contributor does, from the checkout. */
async function serving(program: string, words: readonly string[]) {
  const dir = await project({ '.svc/config.yaml': `${FAST['.svc/config.yaml']}economy:\n  enabled: true\n` })
  const running = new RunningSvc(['serve', '--with-daemon', '--port', '0', ...words], { cwd: dir.path, program })
  const urls = () => [...running.stdout.matchAll(/^Dashboard: +(http:\/\/127\.0\.0\.1:\d+)\/$/gm)].map(([, url]) => url)
  const ask = async (path: string, body?: object) => {
    // A kept-alive connection may end while a module is compiled.
    const headers = { connection: 'close', 'content-type': 'application/json' }
    const post = body && { method: 'POST', body: JSON.stringify(body) }
    return fetch(`${urls().at(-1)}${path}`, { headers, ...post })
  }
  await running.waitForOutput(/^Dashboard: /m)
  return {
    running,
    ask,
    starts: () => urls().length,
    cli: (...given: string[]) => svc(given, { cwd: dir.path, program }),
    async summaryOf(path: string): Promise<string | undefined> {
      const { paths } = (await (await ask('/openapi.json')).json()) as {
        paths: Record<string, { get?: { summary: string } }>
      }
      return paths[path]?.get?.summary
    },
    async plugins(): Promise<ListedPlugin[]> {
      return (await (await ask('/plugins')).json()) as ListedPlugin[]
    },
    async errorOf(name: string): Promise<string> {
      return (await this.plugins()).find(each => each.name === name)?.error ?? ''
    },
    async [Symbol.asyncDispose]() {
      // With --reload, this process is the parent of the service.
      await running.end('SIGTERM')
      await dir[Symbol.asyncDispose]()
    },
  }
}

/** Waits for a condition as long as the test may take: compiling a module on a busy machine takes minutes. */
export async function eventually(holds: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await holds())) await new Promise(resolve => setTimeout(resolve, 200))
}
