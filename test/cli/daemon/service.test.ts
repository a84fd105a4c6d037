import { access, chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findUnit } from '#platform/daemon/unit'
import { RunningSvc } from '../../support/cli.ts'
import type { TempDir } from '../../support/temp.ts'
import { svc } from '../../support/vitest/warm.ts'
import { FAST, project } from '../project.ts'

/** Creates a fake systemctl that records its arguments. */
async function withSystemctl(dir: TempDir) {
  const bin = join(dir.path, 'bin')
  await dir.write({
    'bin/systemctl': `#!/bin/sh\necho "$@" >> ${dir.path}/calls\n[ "$2" = is-active ] && echo active\nexit 0\n`,
  })
  await chmod(join(bin, 'systemctl'), 0o755)
  return { PATH: `${bin}:${process.env.PATH}`, XDG_CONFIG_HOME: join(dir.path, 'config') }
}

describe('a daemon that systemd runs', () => {
  const unit = { name: 'svc-notes-1a2b3c.service', user: true }

  it('is not restarted by svc restart, and svc stop names the command that starts it again', async () => {
    await using dir = await project(FAST)
    const cwd = dir.path
    await using daemon = new RunningSvc(['start'], { cwd })
    await daemon.waitForOutput(/^Logs: /m)
    const file = join(cwd, '.svc/daemon.json')
    await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, 'utf8')), unit }))
    expect(await svc(['restart', '--detach'], { cwd })).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `svc: The daemon (PID ${daemon.pid}) is run by systemd; restart it with: systemctl --user restart ${unit.name}\n`,
    })
    const { stdout } = await svc(['stop'], { cwd })
    expect(stdout).toContain(`has stopped. systemd ran it; start it again with: systemctl --user start ${unit.name}`)
    expect(await daemon.ended).toBe(0)
  })

  const OWN = `/user.slice/user-1000.slice/user@1000.service/app.slice/${unit.name}`
  it.each([
    ["a user's unit", process.pid, `0::${OWN}\n`, unit],
    ['a unit whose wrapper starts it', process.ppid, `0::${OWN}\n`, unit],
    [
      'a unit of the machine, with the first cgroups',
      process.pid,
      '2:cpu:/\n1:name=systemd:/system.slice/svc.service\n',
      { name: 'svc.service', user: false },
    ],
    [
      'a shell in a unit',
      1,
      '0::/user.slice/user-1000.slice/user@1000.service/app.slice/terminal.service\n',
      undefined,
    ],
    ['a session', process.pid, '0::/user.slice/user-1000.slice/session-2.scope\n', undefined],
  ])('is recognized: %s', async (_, pid, groups, found) => {
    const files = { readFile: async () => groups } as never
    expect(await findUnit({ files, env: { SYSTEMD_EXEC_PID: String(pid) } })).toEqual(found)
  })
})

describe('svc service', () => {
  it('installs a unit that starts this program in this folder, shows its status, and removes it', async () => {
    await using dir = await project()
    const options = { cwd: dir.path, env: await withSystemctl(dir) }
    const installed = await svc(['service', 'install', '--profiles', 'coder,writer'], options)
    expect(installed).toMatchObject({ code: 0, stderr: '' })
    const [, file = ''] = /^(\S+\.service) is written, enabled and started/.exec(installed.stdout) ?? []
    const unit = await readFile(file, 'utf8')
    expect(unit).toMatch(
      /^ExecStart="[^"]+node[^"]*" "[^"]+svc\.js" "start" "--root" "[^"]+" "--profiles" "coder,writer"$/m,
    )
    expect(unit).toContain(`WorkingDirectory=${dir.path}\n`)
    for (const line of ['Restart=on-failure', 'KillMode=mixed', 'MALLOC_ARENA_MAX=2', 'WantedBy=default.target']) {
      expect(unit).toContain(line)
    }
    const name = file.split('/').at(-1)
    expect(await readFile(join(dir.path, 'calls'), 'utf8')).toBe(`--user daemon-reload\n--user enable --now ${name}\n`)
    expect((await svc(['service', 'status'], options)).stdout).toContain('active')
    expect((await svc(['service', 'uninstall'], options)).stdout).toContain('is removed')
    await expect(access(file)).rejects.toThrow()
    expect((await svc(['service', 'status', '--json'], options)).stdout).toContain('"installed": false')
  })

  it('--print changes nothing, and escapes what systemd would interpret', async () => {
    await using dir = await project({ '100% "odd" $HOME [1]/.svc/config.yaml': '' })
    const env = { XDG_CONFIG_HOME: join(dir.path, 'config') }
    const { code, stdout } = await svc(['service', 'install', '--print'], {
      cwd: join(dir.path, '100% "odd" $HOME [1]'),
      env,
    })
    expect(code).toBe(0)
    expect(stdout).toContain('/100%% \\"odd\\" $$HOME [1]"')
    expect(stdout).toContain('/100%% "odd" $HOME [1]\n')
    expect(stdout).toContain('/100%% "odd" $HOME \\[1]/.svc/service.env\n')
    await expect(access(join(dir.path, 'config'))).rejects.toThrow()
  })

  it('--serve installs a unit that also runs the dashboard and the API', async () => {
    await using dir = await project()
    const { stdout } = await svc(['service', 'install', '--print', '--serve', '-p', 'coder'], { cwd: dir.path })
    expect(stdout).toMatch(/^ExecStart=.+"serve" "--with-daemon" "--root" "[^"]+" "--profiles" "coder"$/m)
  })

  it('shows an error of systemctl', async () => {
    await using dir = await project()
    const env = await withSystemctl(dir)
    await writeFile(
      join(dir.path, 'bin/systemctl'),
      '#!/bin/sh\necho "Failed to connect to bus: No medium found" >&2\nexit 1\n',
    )
    const failed = await svc(['service', 'install'], { cwd: dir.path, env })
    expect(failed.code).toBe(1)
    expect(failed.stderr).toContain('Failed to connect to bus: No medium found (this user has no login session: ')
    expect(failed.stderr).toContain('export XDG_RUNTIME_DIR=/run/user/$(id -u)')
  })
})
