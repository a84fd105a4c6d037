import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { type TempDir, tempDir } from '../../support/index.ts'
import { startServer } from '../start-server.ts'
import { asked } from './mcp-conformance.ts'

const SUITE = dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json'))
const NODE_20 = fileURLToPath(new URL('mcp-conformance-node20.js', import.meta.url))

/** Scenarios that do not apply; builtins/interfaces/mcp/README.md says why. The run fails if one of them passes. */
const NOT_OURS = [
  // Operations answer with JSON only.
  'tools-call-image',
  'tools-call-audio',
  'tools-call-embedded-resource',
  'tools-call-mixed-content',
  'resources-read-binary',
  'prompts-get-with-image',
  // The server sends no requests to the client.
  'tools-call-sampling',
  'tools-call-elicitation',
  'elicitation-sep1034-defaults',
  'elicitation-sep1330-enums',
]

it('the applicable scenarios of the conformance suite pass', async () => {
  const home = await startServer({ builtins: [asked] })
  await using dir = await tempDir({ 'baseline.yml': `server:\n${NOT_OURS.map(name => `  - ${name}\n`).join('')}` })
  const { code, text } = await conformance(`${home.url}/mcp`, dir)
  const scenariosMarked = (mark: string) =>
    [...text.matchAll(new RegExp(`^${mark} ([\\w-]+): \\d+ passed`, 'gm'))].map(([, name]) => name!).sort()
  expect(scenariosMarked('✗')).toEqual(NOT_OURS.sort())
  expect(scenariosMarked('✓')).toHaveLength(20)
  expect(code, text).toBe(0)
})

async function conformance(url: string, { path }: TempDir): Promise<{ code: number | null; text: string }> {
  const words = [join(SUITE, 'dist/index.js'), 'server', '--url', url, '--expected-failures', 'baseline.yml']
  const child = spawn(process.execPath, ['--import', NODE_20, ...words], {
    cwd: path,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', part => {
      text += part
    })
  }
  const code = await new Promise<number | null>(resolve => child.once('close', resolve))
  return { code, text }
}
