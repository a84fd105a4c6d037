import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { expect, it } from 'vitest'
import { connectClient } from '../interfaces/mcp/mcp-client.ts'
import { bareEnvironment, tempDir, until } from '../support/index.ts'

const PROGRAM = new URL('../../dist/svc.js', import.meta.url).pathname
const WAYS = ['console', 'stream', 'descriptor', 'child']

const loud = (pidFile: string) => `
import { spawnSync } from 'node:child_process'
import { writeFileSync, writeSync } from 'node:fs'
import { definePlugin, z } from 'svc'
const print = (when: string) => {
  console.log('console', when)
  process.stdout.write('stream ' + when + '\\n')
  writeSync(1, 'descriptor ' + when + '\\n')
  spawnSync('echo', ['child', when], { stdio: 'inherit' })
}
writeFileSync(${JSON.stringify(pidFile)}, String(process.pid))
print('at load')
export default definePlugin({ name: 'loud', setup(svc) {
  print('in setup')
  svc.operation({ name: 'shout', summary: 'Shout', input: z.object({}), output: z.string(), mcp: true,
    run() { print('in a tool'); return 'quiet' } })
} })`

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

async function open() {
  const dir = await tempDir({ '.svc/config.yaml': '' })
  const pidFile = join(dir.path, 'pid')
  await dir.write({ 'plugins/loud.ts': loud(pidFile) })
  const env = { ...bareEnvironment() } as Record<string, string>
  const args = [PROGRAM, 'mcp']
  const transport = new StdioClientTransport({ command: process.execPath, args, cwd: dir.path, env, stderr: 'pipe' })
  const errors: Error[] = []
  let stderr = ''
  transport.stderr!.on('data', text => {
    stderr += text
  })
  transport.onerror = error => void errors.push(error)
  const { client, call } = await connectClient(transport)
  const child = () => Number(readFileSync(pidFile, 'utf8'))
  return { dir, client, call, transport, errors, child, stderr: () => stderr }
}

it('everything that a plugin prints goes to standard error, however it prints', async () => {
  const { dir, client, call, errors, child, stderr } = await open()
  await using _dir = dir
  expect(await call('shout')).toMatchObject({ isError: false, output: { result: 'quiet' } })
  const lines = WAYS.flatMap(way => ['at load', 'in setup', 'in a tool'].map(when => `${way} ${when}`))
  await until(() => lines.every(line => stderr().includes(line)))
  expect(errors).toEqual([])
  await client.close()
  await until(() => !isAlive(child()))
})

it.each(['SIGTERM', 'SIGINT', 'SIGKILL'] as const)('%s to svc mcp leaves no process behind', async signal => {
  const { dir, transport, child } = await open()
  await using _dir = dir
  process.kill(transport.pid!, signal)
  await until(() => transport.pid === null && !isAlive(child()))
})
