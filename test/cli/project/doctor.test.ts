import { chmod, constants, readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { CheckContext, DoctorReport } from '#interfaces/doctor/contract'
import { diskSpace, nativeModule, nodeVersion, openFiles, permissions, watches } from '#interfaces/doctor/machine'
import { systemPorts } from '#lib/system-ports'
import { RunningSvc } from '../../support/cli.ts'
import { modelServer } from '../../support/model/model-server.ts'
import Database from '../../support/sqlite.ts'
import { svc } from '../../support/vitest/warm.ts'
import { FAST, project } from '../project.ts'

const runDoctor = async (cwd: string, env: Record<string, string> = {}) => {
  const { code, stdout, stderr } = await svc(['doctor', '--json'], { cwd, env })
  const { checks } = JSON.parse(stdout) as { checks: DoctorReport[] }
  return { code, stderr, of: new Map(checks.map(check => [check.name, check])) }
}

describe('svc doctor', () => {
  it('makes at least twenty checks, says what could be better, and runs no plugin', async () => {
    await using dir = await project({
      'plugins/loud.ts': `import { writeFileSync } from 'node:fs'\nwriteFileSync(${JSON.stringify('/proc/self/cwd/ran')}, '')\nexport default {}`,
    })
    const { code, stderr, of } = await runDoctor(dir.path)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(of.size).toBeGreaterThanOrEqual(20)
    expect(of.get('node')!.message).toContain(process.version.slice(1))
    for (const name of ['default_model', 'budget']) {
      expect(of.get(name)).toMatchObject({ level: 'warn', remedy: expect.stringMatching(/./) })
    }
    await expect(chmod(join(dir.path, 'ran'), 0o600)).rejects.toThrow('ENOENT')
    const { stdout } = await svc(['doctor'], { cwd: dir.path })
    expect(stdout).toMatch(/^warn {2}budget +nothing limits what agents spend\n +→ set a limit: svc config set/m)
    expect(stdout).toMatch(/^\d+ checks: \d+ ok, \d+ with warnings, 0 failed$/m)
  })

  it('finds all problems of a project at once, with a remedy for each, and exits with 1', async () => {
    await using dir = await project({
      '.svc/config.yaml': 'daemon:\n  hartbeat: 3\nmodel:\n  default_model: openai:gpt-4o\n',
      'profiles/bad.yaml': 'name: [',
      '.svc/daemon.json': JSON.stringify({
        pid: 4_000_000,
        process: 'gone',
        lock: 'no.lock',
        socket: 'no.sock',
        started_at: 1,
      }),
    })
    await svc(['status'], { cwd: dir.path, env: { OPENAI_API_KEY: 'sk-of-nobody' } })
    await chmod(join(dir.path, '.svc'), 0o755)
    const later = new Date(Date.now() + 3_600_000)
    await utimes(join(dir.path, '.svc/config.yaml'), later, later)
    const { code, of } = await runDoctor(dir.path)
    expect(code).toBe(1)
    const checkNamed = (name: string) => ({
      level: of.get(name)!.level,
      text: `${of.get(name)!.message} ${of.get(name)!.remedy}`,
    })
    expect(checkNamed('config_keys')).toEqual({
      level: 'warn',
      text: expect.stringMatching(/line 2.*is not a known key/),
    })
    expect(checkNamed('default_model')).toEqual({
      level: 'fail',
      text: expect.stringContaining('OPENAI_API_KEY is not set'),
    })
    expect(checkNamed('profiles')).toEqual({ level: 'warn', text: expect.stringContaining('bad.yaml') })
    expect(checkNamed('daemon')).toEqual({
      level: 'warn',
      text: expect.stringMatching(/stale: process 4000000.*svc stop/),
    })
    expect(checkNamed('permissions')).toEqual({ level: 'warn', text: expect.stringContaining('chmod go=') })
    expect(checkNamed('clock')).toEqual({ level: 'warn', text: expect.stringContaining('set back') })
  })

  it('finds the address at which this project serves', async () => {
    await using dir = await project(FAST)
    await using server = new RunningSvc(['serve', '--with-daemon', '--port', '0'], { cwd: dir.path })
    const [, url = ''] = await server.waitForOutput(/Dashboard: +(http:\/\/127\.0\.0\.1:\d+)\//)
    const { of } = await runDoctor(dir.path)
    expect(of.get('port')).toMatchObject({ level: 'ok', message: `this project's server answers at ${url}` })
  })

  it('knows the port and the key of a server without a daemon, as long as it runs', async () => {
    await using dir = await project(FAST)
    const words = ['serve', '--host', '0.0.0.0', '--port', '0']
    const env = { SVC_API_KEY: 'tea' }
    await using server = new RunningSvc(words, { cwd: dir.path, env })
    const [, port = ''] = await server.waitForOutput(/Dashboard: +http:\/\/[^:]+:(\d+)\//)
    const { code, of } = await runDoctor(dir.path)
    expect([code, of.get('port')]).toMatchObject([
      1,
      { level: 'ok', message: `this project's server answers at http://127.0.0.1:${port}` },
    ])
    expect(of.get('api_key')).toMatchObject({
      level: 'fail',
      message: expect.stringMatching(new RegExp(`has 3 visible characters; .*0\\.0\\.0\\.0:${port} can be reached`)),
    })
    await server.end('SIGKILL')
    const after = await runDoctor(dir.path)
    expect(after.of.get('port')?.message).not.toContain(port)
    expect(after.of.get('api_key')).toMatchObject({ level: 'ok' })
    await using next = new RunningSvc(['serve', '--port', '0'], { cwd: dir.path })
    await next.waitForOutput(/Dashboard: /)
    expect(await readdir(join(dir.path, '.svc/servers'))).toHaveLength(1)
    await next.end('SIGTERM')
    expect(await readdir(join(dir.path, '.svc/servers'))).toEqual([])
  })

  it('warns, but does not fail, when the server of a model has no list of models', async () => {
    await using dir = await project()
    await using server = await modelServer({ models: null })
    const env = { OPENAI_BASE_URL: server.url, SVC_DEFAULT_MODEL: 'openai:a-model' }
    const { code, of } = await runDoctor(dir.path, env)
    expect(code).toBe(0)
    const message = expect.stringMatching(/^openai:a-model: .* does not list its models \(HTTP 404\)/)
    expect(of.get('default_model')).toMatchObject({
      level: 'warn',
      message,
      remedy: expect.stringContaining('svc run'),
    })
  })

  it('reports a missing project, a bad configuration, and a locked or invalid database', async () => {
    const nowhere = await runDoctor('/')
    expect(nowhere.of.get('project')).toMatchObject({ level: 'fail', remedy: expect.stringContaining('svc init') })
    await using dir = await project({ '.svc/config.yaml': 'daemon:\n  heartbeat: soon\n' })
    const bad = await runDoctor(dir.path)
    expect(bad.of.get('config')).toMatchObject({ level: 'fail', message: expect.stringContaining('daemon.heartbeat') })
    await writeFile(join(dir.path, '.svc/config.yaml'), '')
    await svc(['status'], { cwd: dir.path })
    const other = new Database(join(dir.path, '.svc/svc.db'))
    other.exec('BEGIN IMMEDIATE')
    const locked = await runDoctor(dir.path)
    expect(locked.of.get('database_lock')).toMatchObject({ level: 'fail', message: expect.stringContaining('locked') })
    other.close()
    await writeFile(join(dir.path, '.svc/svc.db'), 'this is no database, but it is long enough to be taken for one')
    const none = await runDoctor(dir.path)
    expect([none.code, none.of.get('database')]).toMatchObject([1, { level: 'fail' }])
  })

  it('reports problems of the machine itself, with remedies', async () => {
    const context = { needsNode: '>=99.1', ports: systemPorts() } as unknown as CheckContext
    expect(nodeVersion(context)).toMatchObject({ level: 'fail', message: expect.stringContaining('>=99.1 is needed') })
    const brokenModule = async (error: Error) => nativeModule({ ...context, database: () => Promise.reject(error) })
    const missing = Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' })
    expect(await brokenModule(missing)).toMatchObject({ level: 'fail', remedy: expect.stringContaining('npm install') })
    const foreign = await brokenModule(new Error('was compiled against a different Node.js version\nmore'))
    expect(foreign).toMatchObject({ level: 'fail', remedy: expect.stringContaining('npm rebuild better-sqlite3') })
    expect(foreign.message).toMatch(/different Node\.js version$/)
    const disk = (mib: number) =>
      diskSpace('/', {
        files: { statfs: async () => ({ bavail: mib, bsize: 1024 * 1024, ffree: 1e6, files: 1e6 }) },
      } as never)
    expect([(await disk(50)).level, (await disk(500)).level, (await disk(5_000)).level]).toEqual(['fail', 'warn', 'ok'])
    const checkOwner = (refused: string, mode = 0o600) => {
      const access = async (path: string) => {
        if (path.endsWith(refused)) throw Object.assign(new Error('EACCES'), { code: 'EACCES' })
      }
      return permissions("/a b/it's", { files: { access, stat: async () => ({ mode }), constants } } as never)
    }
    expect(await checkOwner('.svc')).toMatchObject({
      level: 'fail',
      message: "/a b/it's/.svc cannot be written by this user",
    })
    expect(await checkOwner('svc.db-shm')).toEqual({
      level: 'fail',
      message: "/a b/it's/.svc/svc.db-shm cannot be read and written by this user",
      remedy: `run svc as the user to whom it belongs, or take ownership: sudo chown -R "$USER" '/a b/it'\\''s/.svc' && chmod -R u+rwX '/a b/it'\\''s/.svc'`,
    })
    expect((await checkOwner('none', 0o644)).remedy).toMatch(/chmod go= '\/a b\/it'\\''s\/\.svc' '/)
    const says = (text: string) => ({ files: { readFile: async () => text } }) as never
    expect(await openFiles(says('Max open files   256   512'))).toMatchObject({
      remedy: expect.stringContaining('prlimit'),
    })
    const checkWatching = (code?: string, text = '100\n') => {
      const files = {
        readFile: async () => text,
        watch: (_: string, { signal }: { signal: AbortSignal }) => ({
          [Symbol.asyncIterator]: () => ({
            next: async () => {
              if (code) throw Object.assign(new Error(code), { code })
              await Promise.resolve()
              signal.throwIfAborted()
            },
          }),
        }),
      }
      return watches({ files } as never, '/')
    }
    for (const [code, limit] of [
      ['EMFILE', 'max_user_instances'],
      ['ENOSPC', 'max_user_watches'],
      [undefined, 'max_user_watches'],
    ] as const) {
      expect(await checkWatching(code)).toMatchObject({
        level: 'warn',
        remedy: expect.stringContaining(`sysctl fs.inotify.${limit}=`),
      })
    }
    expect(await checkWatching(undefined, '8192\n')).toMatchObject({ level: 'ok' })
  })
})
