import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RunningSvc } from '../../support/cli.ts'
import type { TempDir } from '../../support/temp.ts'
import { svc } from '../../support/vitest/warm.ts'
import { project } from '../project.ts'
import { tmux, withTmux } from './tmux.ts'

const PROGRAM = `${process.execPath} ${join(process.cwd(), 'dist/svc.js')}`
/** Sequences that move the cursor, set the window title and reverse text. */
const HOSTILE = 'a\x1b[2J\x1b]0;owned\x07\u202egnp.exe'

let dir: TempDir
let agent: string

beforeAll(async () => {
  dir = await project({ '.svc/config.yaml': 'model:\n  sim_delay: 0\napproval:\n  require_for: [file_write]\n' })
  agent = JSON.parse((await svc(['spawn', 'coder', '--json'], { cwd: dir.path })).stdout).agent_id
  await svc(['goals', 'add', agent, HOSTILE], { cwd: dir.path })
})
afterAll(() => dir[Symbol.asyncDispose]())

describe.skipIf(!withTmux)('svc watch in a terminal', () => {
  it('shows four panels that fit 80x24 and 200x50, handles its keys without a daemon, and restores the terminal', async () => {
    await using terminal = await tmux(
      dir.path,
      { columns: 80, rows: 24 },
      `echo before; ${PROGRAM} watch; echo "left with $?"; cat`,
    )
    const small = await terminal.shows(new RegExp(`Agents \\(1\\)[\\s\\S]*${agent}`))
    for (const title of ['Agents', 'Vitals', 'Activity', 'Attention']) expect(small).toContain(`─ ${title}`)
    expect(small).toContain('no daemon: svc start')
    expect(small).toContain('\\x1b[2J')
    expect(small.split('\n').filter(line => line !== '').length).toBeLessThanOrEqual(24)

    await terminal.resize(200, 50)
    expect(await terminal.shows(/^(.*\n){49}q quit/)).toMatch(/─ Agents.{100,}─ Vitals/)
    await terminal.resize(20, 10)
    await terminal.shows(/^─ Agents \(1\) ─+$/m)
    await terminal.resize(80, 24)

    await terminal.type('p')
    await terminal.shows(/‖ coder/)
    await terminal.type('n')
    await terminal.shows(/^To coder-[0-9a-f]+:/m)
    await terminal.type('look at it', 'Enter')
    await terminal.shows(/reads it before its next model call/)
    await terminal.type('f', 'y', 'Enter')
    await terminal.shows(/FROZEN/)
    await terminal.type('?')
    await terminal.shows(/pause or resume the agent/)
    await terminal.type('Escape', 'f', 'y', 'Enter')
    await terminal.shows(/no longer frozen/)
    await terminal.type('q')
    const after = await terminal.shows(/left with 0/)
    expect(after).toMatch(/^before\nleft with 0$/m)
  })

  it('keeps the selected agent when one above it is deleted', async () => {
    await using home = await project({})
    for (const name of ['first', 'second', 'third']) await svc(['spawn', 'coder', '--name', name], { cwd: home.path })
    await using terminal = await tmux(home.path, { columns: 80, rows: 24 }, `${PROGRAM} watch; cat`)
    await terminal.shows(/Agents \(3\)/)
    await terminal.type('Down')
    await svc(['kill', 'first'], { cwd: home.path })
    await terminal.shows(/Agents \(2\)/)
    await terminal.type('n')
    await terminal.shows(/^To coder-\w+ \(second\):/m)
  })

  it('restores the terminal on Ctrl-C, which ends with 130, and on SIGTERM', async () => {
    const watched = `sh -c 'echo $$ > pid; exec ${PROGRAM} watch'`
    const script = `${PROGRAM} watch --compact; echo "left with $?"; read go; ${watched}; echo "then $?"; cat`
    await using terminal = await tmux(dir.path, { columns: 80, rows: 24 }, script)
    expect(await terminal.shows(/Agents \(1\)/)).not.toContain('Vitals')
    await terminal.type('C-c')
    await terminal.shows(/left with 130/)
    await terminal.type('Enter')
    await terminal.shows(/─ Vitals/)
    process.kill(Number(await readFile(join(dir.path, 'pid'), 'utf8')), 'SIGTERM')
    expect(await terminal.shows(/then 143/)).toMatch(/left with 130/)
  })
})

describe.skipIf(!withTmux)('svc watch with a daemon', () => {
  it('shows a call that waits for approval with its arguments, and y approves it', async () => {
    const config =
      'daemon:\n  heartbeat: 0.2\nmodel:\n  sim_delay: 0\napproval:\n  require_for: [file_write]\n  enabled: true\n'
    await using home = await project({ '.svc/config.yaml': config })
    await using daemon = new RunningSvc(['start', '-p', 'coder'], { cwd: home.path })
    await daemon.waitForOutput(/^Logs: /m)
    await using terminal = await tmux(home.path, { columns: 80, rows: 24 }, `${PROGRAM} watch; cat`)
    await terminal.shows(/Attention \(1 to decide\)/)
    process.kill(daemon.pid, 'SIGSTOP')
    try {
      await terminal.type('a', 'n')
      await terminal.shows(/^To coder-/m)
    } finally {
      process.kill(daemon.pid, 'SIGCONT')
    }
    await setTimeout(500)
    await terminal.type('y')
    // A key that is typed into another question decides nothing.
    await terminal.shows(/^To coder-.*: y/m)
    await terminal.type('Escape', 'a')
    const asked = await terminal.shows(
      /coder-[0-9a-f]{8} wants to call file_write \(creates or overwrites files\) with:/,
    )
    expect(asked).toMatch(/^ {2}"path": "\S+"$/m)
    expect(asked).toMatch(/y approve {2}d deny/)
    await terminal.type('y')
    await terminal.shows(/ap-[0-9a-f]+: approved/)
    const { stdout } = await svc(['approvals', 'of', 'coder', '--json', '--status', 'all'], { cwd: home.path })
    expect(stdout).toMatch(/"status": "(approved|consumed)"/)
  })
})

describe('svc watch', () => {
  it('prints plain lines into a pipe, and ends with 130 on Ctrl-C', async () => {
    await svc(['spawn', 'coder', '--name', 'tidy'], { cwd: dir.path })
    await using watch = new RunningSvc(['watch'], { cwd: dir.path })
    await watch.waitForOutput(/^coder-\w+ \(tidy\) {2}\w+$/m)
    await watch.waitForOutput(/coder-\w+ \(tidy\) spawned from coder/)
    await watch.waitForOutput(new RegExp(`^${agent}  \\w+  a\\\\x1b\\[2J`, 'm'))
    await watch.waitForOutput(/agent spawned|spawned from coder/)
    expect(watch.stdout).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u)
    expect(await watch.end('SIGINT')).toBe(130)
  })
})
