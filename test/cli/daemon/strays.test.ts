import { expect, it } from 'vitest'
import { svc } from '../../support/cli.ts'
import { project } from '../project.ts'

const careless = (setup: string) => `import { definePlugin } from 'svc'
export default definePlugin({ name: 'careless', setup() {
  ${setup}
} })`

it('an unhandled rejection of a plugin is a warning with file and line, and fails no command', async () => {
  await using dir = await project({ 'plugins/careless.ts': careless("Promise.reject(new Error('left behind'))") })
  const { code, stdout, stderr } = await svc(['budget', 'reset', '--json'], { cwd: dir.path })
  expect([code, JSON.parse(stdout)]).toEqual([0, expect.anything()])
  expect(stderr).toMatch(/^svc: warning: uncaught error: left behind \(\/.*\/plugins\/careless\.ts:3:\d+\)\n$/)
})

it('an uncaught exception of a plugin ends a command with exit code 1 and a message', async () => {
  const late = "process.nextTick(() => { throw new Error('thrown late') })"
  await using dir = await project({ 'plugins/careless.ts': careless(late) })
  const { code, stderr } = await svc(['budget', 'reset'], { cwd: dir.path })
  expect(code).toBe(1)
  expect(stderr).toMatch(/^svc: uncaught error: thrown late \(\/.*\/plugins\/careless\.ts:3:\d+\)\n$/)
})
