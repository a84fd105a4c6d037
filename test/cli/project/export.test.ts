import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import rest from '#interfaces/rest/index'
import exporting from '#observability/export/index'
import { appendEvent, Store } from '#platform/store/contract'
import { listen } from '../../interfaces/rest/rest-server.ts'
import { spawn } from '../../spec/core/models/model-host.ts'
import { finish, running } from '../../spec/observability/runs-host.ts'
import { until } from '../../support/index.ts'
import { svc } from '../../support/vitest/warm.ts'
import { FAST, project } from '../project.ts'

describe('svc export', () => {
  let home: Awaited<ReturnType<typeof running>>
  beforeAll(async () => {
    home = await running([finish], { builtins: [rest, exporting] })
    await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'goal_completed')
    await home.kernel.heartbeat.stop()
  })
  afterAll(() => home?.close())

  const write = (output: string, more: object = {}) =>
    home.kernel.invoke('runs.write_export', { run_id: home.run_id, output, ...more }) as Promise<{
      file: string
      bytes: number
      left_out: number
    }>
  const partFiles = async () => (await readdir(home.root)).filter(name => name.includes('.part-'))

  it('writes one complete file that only its owner can read', async () => {
    const { file, bytes } = await write('f.html')
    expect(file).toBe(join(home.root, 'f.html'))
    const found = await stat(file)
    expect([found.size, found.mode & 0o777]).toEqual([bytes, 0o600])
    const page = await readFile(file, 'utf8')
    expect(page).toMatch(/^<!doctype html>[\s\S]*<\/html>\n$/)
    expect(page).toContain(home.run_id)
    expect(await partFiles()).toEqual([])
  })

  it('leaves an existing file as it was, unless it is forced', async () => {
    const file = join(home.root, 'mine.html')
    await writeFile(file, 'mine')
    await expect(write(file)).rejects.toMatchObject({
      code: 'export_exists',
      message: expect.stringContaining('--force'),
    })
    expect(await readFile(file, 'utf8')).toBe('mine')
    await expect(write(file, { force: true, run_id: 'run-20200101-000000-abcdef' })).rejects.toMatchObject({
      code: 'run_not_found',
    })
    expect(await readFile(file, 'utf8')).toBe('mine')
    await write(file, { force: true })
    expect(await readFile(file, 'utf8')).toContain('<!doctype html>')
  })

  it.each([
    ['folder', 'it is a folder'],
    ['none/f.html', 'its folder does not exist'],
    ['f.html/g.html', 'a part of its path is a file, not a folder'],
    ['/proc/f.html', 'it|has no write permission'],
  ])('says why %s cannot be written', async (output, why) => {
    await mkdir(join(home.root, 'folder'), { recursive: true })
    await expect(write(output)).rejects.toMatchObject({
      code: 'cannot_export',
      message: expect.stringMatching(why),
    })
    expect(await partFiles()).toEqual([])
  })

  it('keeps the newest part of a long run, and says what is left out', async () => {
    const { kernel, run_id } = home
    const data = {
      agent_id: 'a-1',
      goal_id: null,
      tool: 'file_read',
      ok: true,
      arguments: '{}',
      output: 'x',
      duration_ms: 1,
    }
    for (let n = 0; n < 30; n++) {
      const events = Array.from({ length: 100 }, (_, at) =>
        appendEvent({
          type: 'tool_result',
          agent_id: 'a-1',
          run_id,
          data: { ...data, step: at, call_id: `c:${n}:${at}`, output: `output number ${n * 100 + at}.` },
        }),
      )
      await kernel.use(Store).apply(events)
    }
    const { file, left_out } = await write('long.html', { limit: 500 })
    expect(left_out).toBeGreaterThanOrEqual(2_500)
    const page = await readFile(file, 'utf8')
    expect(page).toContain('output number 2999.')
    expect(page).toContain('output number 2600.')
    expect(page).not.toContain('output number 2400.')
    expect(page).toMatch(/This was a long run: [^<]* omits/)
  })

  it('is sent over HTTP as a file, with a Content-Security-Policy of its own', async () => {
    const { ask } = await listen(home.kernel)
    const get = (id: string) => ask(`/runs/${id}/export?limit=100`)
    const answer = await get(home.run_id)
    expect(answer.status).toBe(200)
    expect(answer.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-disposition': `attachment; filename="svc-report-${home.run_id}.html"`,
      'x-content-type-options': 'nosniff',
    })
    const policy = /http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(answer.text)?.[1]
    expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-/)
    expect(answer.headers['content-security-policy']).toBe(`${policy}; frame-ancestors 'none'`)
    expect((await get('run-20200101-000000-abcdef')).status).toBe(404)
  })

  it('exits with 0 and writes the file, or exits with 1 and prints a message', async () => {
    await using dir = await project(FAST)
    const runSvc = (...words: string[]) => svc(words, { cwd: dir.path })
    const { agent_id } = JSON.parse((await runSvc('spawn', 'coder', '--json')).stdout) as { agent_id: string }
    await runSvc('task', 'run', agent_id, 'list your files')
    const [{ run_id }] = JSON.parse((await runSvc('runs', '--json')).stdout) as [{ run_id: string }]
    const done = await runSvc('export', run_id, '--output', 'out.html')
    expect([done.code, done.stderr]).toEqual([0, ''])
    expect(done.stdout).toMatch(/out\.html: \d+ spans, \d+ KiB\n$/)
    const page = await readFile(join(dir.path, 'out.html'), 'utf8')
    expect(page).toContain('list your files')
    expect(page).toContain('svc · report of a run')
    expect(page).not.toContain('Â')
    const again = await runSvc('export', run_id, '-o', 'out.html')
    expect([again.code, again.stdout]).toEqual([1, ''])
    expect(again.stderr).toContain('--force')
    const unknown = await runSvc('export', 'run-20200101-000000-abcdef')
    expect([unknown.code, unknown.stdout]).toEqual([1, ''])
    expect(unknown.stderr).toContain('There is no run "run-20200101-000000-abcdef"')
  })
})
