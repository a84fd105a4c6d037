import { createHash } from 'node:crypto'
import { basename, join } from 'node:path'
import { defineError, type Ports } from '#kernel'
import { homeFolder } from '#lib/home-folder'
import { succeeds } from '#lib/succeeds'
import { replaceFile } from '#lib/yaml'
import type { Context, HandWritten } from '../../context.ts'
import { presetsOf } from '../../process/announce.ts'
import { findProject } from '../../project/project.ts'
import { print } from '../../screen/printable.ts'

const UnfitPathError = defineError({
  code: 'unfit_path',
  status: 400,
  title: 'Unusable path',
  message: (p: { path: string }) =>
    `systemd cannot start a service in ${JSON.stringify(p.path)}: the path has a line break; rename the folder.`,
})
/** Error message if the user's bus does not answer, as after su or sudo, which start no session. */
const NO_SESSION =
  'this user has no login session: run loginctl enable-linger, then export XDG_RUNTIME_DIR=/run/user/$(id -u), and try again'
const SystemdError = defineError({
  code: 'systemd',
  status: 502,
  title: 'systemd failed',
  message: (p: { words: string; problem: string; file: string }) =>
    `"${p.words}" failed: ${p.problem}. The unit is in ${p.file}.`,
})

/** Writes a systemd user unit, enables it and starts it. */
export const install: HandWritten = async ({ print: printOnly, serve, profiles }, context) => {
  const { ports } = context
  const root = await findProject(ports, context.named)
  const mode = serve === true ? ['serve', '--with-daemon'] : ['start']
  const unit = unitText(root, mode, presetsOf(profiles), context)
  if (printOnly === true) return print(context, { unit }, unit.trimEnd())
  const { file, name } = unitOf(root, ports)
  await ports.files.mkdir(unitFolder(ports), { recursive: true })
  await replaceFile(ports.files, file, unit, 0o644)
  const enabling = ['enable', '--now', name]
  for (const words of [['daemon-reload'], enabling]) {
    const { code, text } = await systemctl(ports, words)
    if (code === null) {
      const where = `systemctl was not found; on a machine that has it, run: systemctl --user ${enabling.join(' ')}`
      return print(context, { file, enabled: false }, `${file} is written. ${where}`)
    }
    if (code !== 0) {
      const problem = /connect to .*bus/.test(text) ? `${text} (${NO_SESSION})` : text
      throw new SystemdError({ words: `systemctl --user ${words.join(' ')}`, problem, file })
    }
  }
  const message = `${file} is written, enabled and started.
To give its agents API keys, add them to ${join(root, '.svc', 'service.env')} (NAME=value, one per line).
To keep it running while you are not logged in: loginctl enable-linger`
  return print(context, { file, enabled: true }, message)
}

/** Disables and removes the unit, or reports that there is none. */
export const uninstall: HandWritten = async (_, context) => {
  const { ports } = context
  const { file, name } = unitOf(await findProject(ports, context.named), ports)
  if (!(await isThere(ports, file))) return print(context, { file, removed: false }, `${file} does not exist.`)
  await systemctl(ports, ['disable', '--now', name])
  await ports.files.rm(file, { force: true })
  await systemctl(ports, ['daemon-reload'])
  return print(context, { file, removed: true }, `${file} is removed.`)
}

/** Shows systemd's status of the unit. */
export const status: HandWritten = async (_, context) => {
  const { ports } = context
  const { file, name } = unitOf(await findProject(ports, context.named), ports)
  const installed = await isThere(ports, file)
  const ask = async (word: string) => {
    const { code, text } = installed ? await systemctl(ports, [word, name]) : { code: null, text: '' }
    return code === null ? null : text || 'unknown'
  }
  const [enabled, active] = [await ask('is-enabled'), await ask('is-active')]
  const there = enabled === null ? `${file} exists, but systemctl was not found.` : `${file}: ${enabled}, ${active}.`
  const status = installed ? there : 'Not installed; install it with: svc service install'
  return print(context, { file, installed, enabled, active }, status)
}

/**
 * Returns the unit of a project: its folder's name, and digits of its path's hash to tell folders of the same name
 * apart.
 */
function unitOf(root: string, ports: Ports): { name: string; file: string } {
  const slug = basename(root).replaceAll(/[^A-Za-z0-9]+/g, '-')
  const name = `svc-${slug}-${createHash('sha256').update(root).digest('hex').slice(0, 6)}.service`
  return { name, file: join(unitFolder(ports), name) }
}

function unitFolder({ env }: Ports): string {
  return join(env.XDG_CONFIG_HOME || join(env.HOME || homeFolder(), '.config'), 'systemd', 'user')
}

/**
 * Returns the text of the unit.
 * @param mode the command that the unit runs
 * @throws UnfitPathError
 */
function unitText(root: string, mode: readonly string[], presets: readonly string[], { ports }: Context): string {
  if (/[\r\n]/.test(root)) throw new UnfitPathError({ path: root })
  const profiles = presets.length > 0 ? ['--profiles', presets.join(',')] : []
  const command = [process.execPath, process.argv[1]!, ...mode, '--root', root, ...profiles]
  return `[Unit]
Description=svc: the agents of ${percent(root)}
After=network-online.target
Wants=network-online.target
StartLimitIntervalSec=300
StartLimitBurst=10

[Service]
Type=exec
WorkingDirectory=${percent(root)}
Environment=${quote(`PATH=${ports.env.PATH ?? '/usr/local/bin:/usr/bin:/bin'}`, percent)}
# V8's threads share their memory, most of which is free at any time, so fewer malloc arenas save some megabytes.
Environment=MALLOC_ARENA_MAX=2
# Keys, as NAME=value; readable only by you.
EnvironmentFile=-${percent(literal(join(root, '.svc', 'service.env')))}
ExecStart=${command.map(word => quote(word, text => percent(text).replaceAll('$', '$$$$'))).join(' ')}
# The daemon ends the processes of its tools itself; systemd then kills those that remain.
KillMode=mixed
TimeoutStopSec=40
Restart=on-failure
RestartSec=2
# Exit code 2 means a usage or configuration error, which a restart cannot fix.
RestartPreventExitStatus=2

[Install]
WantedBy=default.target
`
}

/** systemd.unit(5): `%` begins a specifier. */
function percent(text: string): string {
  return text.replaceAll('%', '%%')
}

/** systemd.exec(5): the name of an environment file is a pattern. */
function literal(path: string): string {
  return path.replaceAll(/[\\*?[]/g, '\\$&')
}

/** systemd.syntax(7): C-style escapes within double quotes. */
function quote(word: string, inside: (text: string) => string): string {
  return `"${inside(word).replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}

/**
 * Runs systemctl.
 * @returns its exit code and output; the code is null if systemctl is not installed
 */
function systemctl({ spawn }: Ports, words: readonly string[]): Promise<{ code: number | null; text: string }> {
  return new Promise(resolve => {
    const child = spawn('systemctl', ['--user', ...words], { stdio: ['ignore', 'pipe', 'pipe'] })
    let text = ''
    const receive = (part: unknown) => {
      text += String(part)
    }
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', receive)
    child.once('error', () => resolve({ code: null, text: '' }))
    child.once('close', code => resolve({ code: code ?? 1, text: text.trim() }))
  })
}

async function isThere({ files }: Ports, file: string): Promise<boolean> {
  return succeeds(files.stat(file))
}
