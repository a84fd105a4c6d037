import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Run, Trace } from '#observability/runs/contract'
import { FAST, project } from '../../cli/project.ts'
import { RunningSvc, until } from '../../support/index.ts'
import { svc } from '../../support/vitest/warm.ts'
import { spans } from './runs-host.ts'

it('svc runs and svc trace show runs while the daemon runs, after a kill and after a stop', async () => {
  await using dir = await project(FAST)
  const options = { cwd: dir.path, env: { OPENAI_API_KEY: 'sk-canary-0123456789', SVC_DEFAULT_MODEL: 'sim' } }
  const stdoutOf = async (...words: string[]) => {
    const { code, stdout, stderr } = await svc(words, options)
    expect([code, stderr], words.join(' ')).toEqual([0, ''])
    return stdout
  }
  const runs = async () => JSON.parse(await stdoutOf('runs', '--json')) as Run[]
  expect(await stdoutOf('runs')).toBe('no runs yet; start one with: svc start\n')

  await using first = new RunningSvc(['start', '-p', 'coder', '--heartbeat', '0.2'], options)
  await until(async () => ((await runs())[0]?.tool_calls ?? 0) > 2)
  const [live] = (await runs()) as [Run]
  expect(live).toMatchObject({ kind: 'daemon', status: 'running', model: expect.stringContaining('sim') })
  expect(await first.end('SIGKILL')).toBeNull()

  expect(await runs()).toMatchObject([{ run_id: live.run_id, status: 'crashed' }])
  const tree = await stdoutOf('trace', live.run_id)
  expect(tree).toMatch(/^\d\d:\d\d:\d\d {2}✗ run-.* crashed {2}\(simulated, not an AI model\)$/m)
  expect(tree).toMatch(/^└ \d\d:\d\d:\d\d {2}coder-[0-9a-f]{8}/m)
  expect(tree).toMatch(/[├└] \d\d:\d\d:\d\d {2}. (file_write|list_dir|notepad_\w+)/)
  const { total_spans, root, complete } = JSON.parse(await stdoutOf('trace', live.run_id, '--json')) as Trace
  expect(complete).toBe(true)
  expect(total_spans).toBe(spans(root).length)

  await using second = new RunningSvc(['start'], options)
  await until(async () => {
    const [last, ...earlier] = await runs()
    return earlier.length === 1 && last!.tool_calls > 0
  })
  expect(await second.end('SIGTERM')).toBe(0)
  expect((await runs()).map(({ status, exit }) => [status, exit])).toEqual([
    ['ended', 'stopped'],
    ['crashed', 'crashed'],
  ])
  const [stopped] = (await runs()) as [Run]
  const manifest = await readFile(join(dir.path, 'logs/runs', stopped.run_id, 'manifest.json'), 'utf8')
  expect(JSON.parse(manifest)).toMatchObject({
    exit: 'stopped',
    ended_at: expect.any(String),
    agents: [expect.anything()],
  })
  expect(manifest).not.toContain('canary')

  const one = await stdoutOf('runs', stopped.run_id)
  expect(one).toContain(`run       ${stopped.run_id} (daemon, ended: stopped)`)
  expect(one).toContain(`show the full trace with: svc trace ${stopped.run_id}`)
  expect((await stdoutOf('runs', '-n', '1')).trim().split('\n')).toHaveLength(2)
  const unknown = await svc(['trace', 'run-20200101-000000-abcdef'], options)
  expect([unknown.code, unknown.stdout]).toEqual([1, ''])
  expect(unknown.stderr).toContain('There is no run "run-20200101-000000-abcdef"')
}, 120_000)
