import { readFile, realpath, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { FAST, project } from '../cli/project.ts'
import { RunningSvc } from '../support/cli.ts'
import { binaries } from '../support/postgres.ts'
import { svc } from '../support/vitest/warm.ts'

const npm = await binaries().then(
  bin => bin.includes('node_modules'),
  () => false,
)

it.skipIf(!npm)(
  'svc db up runs a PostgreSQL until Ctrl-C, finds one that already runs, and keeps its data and its URL',
  async () => {
    await using dir = await project(FAST)
    const { path: cwd } = dir
    await using first = new RunningSvc(['db', 'up'], { cwd })
    try {
      const [, SVC_STORE_URL] = (await first.waitForOutput(
        /^export SVC_STORE_URL=(postgres:\/\/\S+)$/m,
      )) as unknown as [string, string]
      expect(new URL(SVC_STORE_URL).hostname).toBe('127.0.0.1')
      expect((await stat(join(cwd, '.svc/postgres.json'))).mode & 0o777).toBe(0o600)
      expect(await readFile(join(cwd, 'logs/postgres.log'), 'utf8')).not.toContain(new URL(SVC_STORE_URL).password)
      expect((await svc(['db', 'up'], { cwd })).stdout).toContain(SVC_STORE_URL)
      expect((await svc(['spawn', 'coder'], { cwd, env: { SVC_STORE_URL } })).code).toBe(0)
      expect(await first.end('SIGINT')).toBe(0)

      expect((await svc(['db', 'up', '--detach'], { cwd })).stdout.trim()).toBe(`export SVC_STORE_URL=${SVC_STORE_URL}`)
      expect((await svc(['status'], { cwd, env: { SVC_STORE_URL } })).stdout).toContain('coder')
      expect((await svc(['db', 'down'], { cwd })).stdout).toContain('has stopped')
      expect((await svc(['db', 'down'], { cwd })).stdout).toContain('is not running')
    } finally {
      await svc(['db', 'down'], { cwd })
      const data = await realpath(join(cwd, '.svc/postgres')).catch(() => cwd)
      if (!data.startsWith(cwd)) await rm(dirname(data), { recursive: true, force: true })
    }
  },
)
