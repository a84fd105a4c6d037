import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { RunningSvc } from '../../support/cli.ts'
import { svc } from '../../support/vitest/warm.ts'
import { project } from '../project.ts'

const LEDGER = `import { definePlugin, Invariants, tool, z } from 'svc'
export default definePlugin({
  name: 'ledger',
  setup(svc) {
    svc.toolkit({ name: 'ledger', tools: [tool({ name: 'book', description: 'Books.', parameters: z.object({ note: z.string() }),
      execute: ({ note }) => note })] })
    svc.add(Invariants, { name: 'nothing_is_booked', promise: 'Nothing is booked.', tables: ['tool_calls'],
      broken: look => look.get("SELECT call_id FROM tool_calls WHERE tool = 'book'") ? 'a booking was found' : undefined })
  },
})`

it('svc simulate prints a violated invariant of a plugin and the command that repeats the run', async () => {
  await using dir = await project()
  const run = (...words: string[]) => svc(['simulate', ...words], { cwd: dir.path })
  const wrong = await run('--seeds', '0')
  expect(`${wrong.code} ${wrong.stderr.split('\n')[0]}`).toBe(
    '2 svc: simulate: --seeds takes a whole number from 1 to 1000000, not "0"',
  )

  const well = await run('--seed', '5', '--cycles', '5', '--faults', 'none', '--log', 'run.jsonl')
  expect(`${well.code} ${well.stderr}`).toBe('0 ')
  const log = await readFile(join(dir.path, 'run.jsonl'), 'utf8')
  const hash = createHash('sha256').update(log).digest('hex')
  expect(well.stdout).toContain(`event log of seed 5: ${hash}`)
  const again = await run('--seed', '5', '--cycles', '5', '--faults', 'none', '--json')
  expect(JSON.parse(again.stdout)).toMatchObject({ worlds: 1, last: { seed: 5, hash, violation: null }, again: null })

  await dir.write({ 'plugins/ledger.ts': LEDGER })
  const broken = await run('--seeds', '20', '--cycles', '20', '--faults', 'none')
  expect(broken.code).toBe(1)
  expect(broken.stdout).not.toContain('differed')
  expect(broken.stdout).toMatch(
    /Seed \d+ violates nothing_is_booked after [\d.]+ s: Nothing is booked\.\na booking was found/,
  )
  const [, command] = /^Repeat: svc simulate (.*)$/m.exec(broken.stdout)!
  const repeated = await run(...command!.split(' '))
  expect(repeated.code).toBe(1)
  const first = (text: string) => /event log of seed .*/.exec(text)?.[0]
  expect(first(repeated.stdout)).toBe(first(broken.stdout))
  // Works from another folder too.
  const named = await svc(['simulate', ...command!.split(' '), '--root', dir.path], { cwd: '/' })
  expect(named.stdout).toContain(`Repeat: svc simulate ${command} --root "${dir.path}"\n`)
})

it('svc simulate stops on Ctrl-C in the middle of a run', async () => {
  const impure = LEDGER.replace('({ note }) => note', "() => void process.stderr.write('booked')").replace(
    "'a booking was found'",
    'undefined',
  )
  await using dir = await project({ 'plugins/ledger.ts': impure })
  await using running = new RunningSvc(['simulate', '--cycles', '1000000'], { cwd: dir.path })
  await running.waitForOutput(/booked/)
  expect(await running.end('SIGINT')).toBe(130)
  expect(running.stdout).toMatch(/^0 runs: 0 cycles/)
})

it('svc simulate reports a plugin whose runs of one seed differ', async () => {
  // The difference is in the log before the invariant breaks, at the second booking.
  const past = LEDGER.replace('({ note }) => note', 'async () => `booked at ${process.hrtime.bigint()}`').replace(
    "tool = 'book'\"",
    "tool = 'book' LIMIT 1 OFFSET 1\"",
  )
  await using dir = await project({ 'plugins/ledger.ts': past })
  const run = await svc(['simulate', '--seeds', '20', '--cycles', '20', '--faults', 'none'], { cwd: dir.path })
  expect(run.code).toBe(1)
  expect(run.stdout).toMatch(/a booking was found\nRepeated, the run differed: a plugin reads time, .*\nRepeat: svc/)
})

it('svc simulate refuses to run without a plugin of the project that failed to load', async () => {
  await using dir = await project({ 'plugins/torn.ts': 'export default {' })
  const { code, stdout, stderr } = await svc(['simulate', '--cycles', '5'], { cwd: dir.path })
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(/torn\.ts.*\n(.*\n)*svc: cannot simulate without torn, which failed to load; see: svc plugins/)
})

it('svc simulate needs no trust in a project without plugin files', async () => {
  await using dir = await project()
  const env = { SVC_TRUST_PROJECT: '', XDG_CONFIG_HOME: join(dir.path, 'config') }
  const { code, stdout, stderr } = await svc(['simulate', '--seeds', '2', '--cycles', '5'], { cwd: dir.path, env })
  expect({ code, stderr }).toMatchObject({ code: 0 })
  expect(stdout).toContain('event log of seed 2')
})
