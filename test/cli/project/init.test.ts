import { spawnSync } from 'node:child_process'
import { chmod, chown, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { install, tsx } from '../../spec/authors.ts'
import { tempDir } from '../../support/temp.ts'
import { svc } from '../../support/vitest/warm.ts'

const PROGRAM = fileURLToPath(new URL('../../../dist/svc.js', import.meta.url))
const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8)

describe('svc init', () => {
  it('creates a private project with what authors need, and keeps everything when run again', async () => {
    await using dir = await tempDir()
    const { code, stdout, stderr } = await svc(['init'], { cwd: dir.path })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/created +\.svc\/config\.yaml/)
    expect(await modeOf(join(dir.path, '.svc'))).toBe('700')
    expect(await modeOf(join(dir.path, '.svc/config.yaml'))).toBe('600')
    expect(await readdir(join(dir.path, 'profiles'))).toEqual(expect.arrayContaining(['coder.yaml', 'writer.yaml']))
    expect(JSON.parse(await readFile(join(dir.path, 'tsconfig.json'), 'utf8'))).toMatchObject({
      include: expect.anything(),
    })
    expect(await readFile(join(dir.path, '.gitignore'), 'utf8')).toMatch(/^\.svc\/$/m)

    await dir.write({
      '.svc/config.yaml': 'daemon:\n  heartbeat: 3\n',
      'profiles/coder.yaml': 'name: mine\nrole: mine\n',
    })
    const again = await svc(['init'], { cwd: dir.path })
    expect(again.code).toBe(0)
    expect(again.stdout.match(/^ +kept/gm)).toHaveLength(7)
    expect(again.stdout).not.toMatch(/^ +made/m)
    expect(await readFile(join(dir.path, '.svc/config.yaml'), 'utf8')).toBe('daemon:\n  heartbeat: 3\n')
    expect(await readFile(join(dir.path, 'profiles/coder.yaml'), 'utf8')).toBe('name: mine\nrole: mine\n')
  })

  it.skipIf(process.getuid?.() !== 0)('works for a user id without an account and without HOME', async () => {
    await using dir = await tempDir()
    await chown(dir.path, 54_321, 54_321)
    await chmod(dir.path, 0o755)
    const env = { PATH: process.env['PATH'] }
    const run = (uid: number, ...words: string[]) =>
      spawnSync(process.execPath, [PROGRAM, ...words], { cwd: dir.path, uid, gid: uid, env, encoding: 'utf8' })
    expect(run(54_321, 'init')).toMatchObject({ status: 0, stderr: '' })
    expect(run(54_321, 'spawn', 'coder')).toMatchObject({ status: 0, stderr: '' })
    // Another user cannot see whether a daemon runs.
    const refused = `svc: ${join(dir.path, '.svc')} cannot be opened: this user may not; run svc as the user to whom it`
    expect(run(54_322, 'stop')).toMatchObject({ status: 1, stderr: expect.stringContaining(refused) })
    const owner = 'run svc as the user to whom it belongs'
    expect(run(54_322, 'status').stderr).toContain(`.svc/config.yaml: cannot be read (EACCES); ${owner}`)
    const { stdout } = run(54_322, 'doctor')
    expect(stdout.replace(/\s+/g, ' ')).toContain(
      `.svc cannot be written by this user → ${owner}, or take ownership: sudo`,
    )
    expect(stdout).not.toMatch(/^ok +daemon/m)
  })

  it('makes the folder of a project private, and leaves the usual mode to new folders above it', async () => {
    await using dir = await tempDir()
    const usual = (0o777 & ~process.umask()).toString(8)
    await svc(['init', '--root', 'x/y/z'], { cwd: dir.path })
    expect(await Promise.all(['x', 'x/y', 'x/y/z'].map(name => modeOf(join(dir.path, name))))).toEqual([
      usual,
      usual,
      '700',
    ])
  })

  it('lets tsx run programs of the project once the package is installed', async () => {
    await using dir = await tempDir({ 'program.mts': "import { Agent } from 'svc'\nconsole.log(typeof Agent)" })
    await svc(['init', '--quiet'], { cwd: dir.path })
    await install(dir.path, 'svc')
    expect(await tsx(dir.path, 'program.mts')).toEqual({ code: 0, output: 'function\n' })
  })

  it('adds only what is missing in an existing folder, and prints nothing with --quiet', async () => {
    await using dir = await tempDir({
      '.gitignore': 'node_modules',
      'tsconfig.json': '{}',
      'profiles/own.yaml': 'a: b',
    })
    expect(await svc(['init', '--quiet'], { cwd: dir.path })).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(await readFile(join(dir.path, '.gitignore'), 'utf8')).toBe('node_modules\n.svc/\nlogs/\n')
    expect(await readFile(join(dir.path, 'tsconfig.json'), 'utf8')).toBe('{}')
    expect(await readdir(join(dir.path, 'profiles'))).toEqual(['own.yaml'])
  })

  it('names the file that is in the way of its folder, and leaves it unchanged', async () => {
    await using dir = await tempDir({ 'a-file': 'x', '.svc': 'x' })
    const inTheWay = await svc(['init'], { cwd: dir.path })
    expect(inTheWay).toMatchObject({ code: 1, stdout: '' })
    expect(inTheWay.stderr).toMatch(/^svc: .*\.svc\/? cannot be written: a file exists where a folder is needed/)
    const below = await svc(['init', '--root', join(dir.path, 'a-file')], { cwd: dir.path })
    expect(below).toMatchObject({ code: 1, stdout: '' })
    expect(await readFile(join(dir.path, 'a-file'), 'utf8')).toBe('x')
  })

  it('fails where the system allows no folder', async () => {
    const { code, stderr } = await svc(['init', '--root', '/proc/x/y'], { cwd: '/tmp' })
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('choose another folder') })
  })

  it.skipIf(process.getuid?.() === 0)('says so when it has no write permission in the folder', async () => {
    await using dir = await tempDir()
    await chmod(dir.path, 0o500)
    const { code, stderr } = await svc(['init'], { cwd: dir.path })
    await chmod(dir.path, 0o700)
    expect(code).toBe(1)
    expect(stderr).toMatch(/the current user has no write permission there/)
  })
})
