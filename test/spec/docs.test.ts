import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { RunningSvc, tempDir } from '../support/index.ts'
import { install, ROOT } from './authors.ts'

interface Example {
  /** The text after the fence: `sh`, `sh keyed` or `ts`. */
  kind: string
  text: string
  /** The content of the block right below; `…` in it stands for any text. */
  shown: string | undefined
}

/** Returns the code blocks of a guide, each with the output that it should print. */
async function examplesOf(guide: string): Promise<Example[]> {
  const text = await readFile(join(ROOT, guide), 'utf8')
  const blocks = [...text.matchAll(/^```(.*)\n([\s\S]*?)^```\n/gm)]
  return blocks.flatMap(([block, kind, text], n) => {
    const next = blocks[n + 1]
    const below = next?.index === blocks[n]!.index + block.length && !/^(sh|ts)/.test(next[1]!) ? next[2] : undefined
    return /^(sh|ts)/.test(kind!) ? [{ kind: kind!, text: text!, shown: below }] : []
  })
}

/** Returns a pattern for a text in which `…` stands for anything, also at its start. */
function pattern(shown: string): RegExp {
  const parts = shown.trim().split('…')
  return new RegExp(`^${parts.map(escapePattern).join('[\\s\\S]*?')}$`)
}
const escapePattern = (text: string) => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&').replace(/\s+/g, '\\s+')

/** Runs scripts one after another in one shell. @returns what each printed */
async function shell(cwd: string, env: Record<string, string>, scripts: readonly string[]): Promise<string[]> {
  const END = '\x1e'
  // Adds a line break after answers that end without one.
  const text = scripts.map(script => `${script.replaceAll(/^(curl .*)$/gm, '$1; echo')}\nprintf '${END}'`).join('\n')
  const child = spawn('bash', ['--norc', '-c', text], { cwd, env: { PATH: process.env.PATH, ...env } })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', part => (output += part))
  await once(child, 'close')
  return output.split(END)
}

it('the API guide shows what a server really answers, to curl and to the typed client', async () => {
  const files = { '.svc/config.yaml': 'daemon: { heartbeat: 3600 }\nmodel: { sim_delay: 0 }\n' }
  await using dir = await tempDir(files)
  await using locked = await tempDir(files)
  await install(dir.path, 'svc')
  const SVC_API_KEY = 'a key for the guide'
  // The agents of the quick start.
  const agents = ['--profiles', 'coder,researcher,philosopher,writer']
  await using server = new RunningSvc(['serve', '--with-daemon', '--port', '0', ...agents], { cwd: dir.path })
  await using keyed = new RunningSvc(['serve', '--port', '0'], { cwd: locked.path, env: { SVC_API_KEY } })
  const said = /^Dashboard: +(http:\/\/127\.0\.0\.1:\d+)\/$/m
  const [, SVC] = await server.waitForOutput(said)
  const [, KEYED] = await keyed.waitForOutput(said)

  const examples = (await examplesOf('docs/api.md')).filter(({ text }) => !text.startsWith('export SVC='))
  expect(examples.length).toBeGreaterThan(12)
  expect(examples.filter(({ shown }) => shown === undefined)).toEqual([])
  const scripts = await Promise.all(
    examples.map(async ({ kind, text }, n) => {
      if (kind === 'sh') return text
      if (kind === 'sh keyed') return `SVC=${KEYED}\n${text}\nSVC=${SVC}`
      await dir.write({ [`example-${n}.mts`]: text })
      return `'${process.execPath}' --import '${join(ROOT, 'node_modules/tsx/dist/loader.mjs')}' example-${n}.mts`
    }),
  )
  const printed = await shell(dir.path, { SVC: SVC!, SVC_API_KEY }, scripts)
  const cases = examples.map(({ text, shown }, n) => ({
    text,
    shown: shown!,
    printed: printed[n]!.replaceAll(/\n\n+/g, '\n\n').trim(),
  }))
  expect(cases.filter(({ shown, printed }) => !pattern(shown).test(printed))).toEqual([])
})
