import type { Ports } from '#kernel'

/**
 * Index of `starttime` in /proc/<pid>/stat, counted after the command's closing parenthesis (proc_pid_stat(5), field
 * 22).
 */
const START_TIME = 22 - 3

/**
 * Returns an id of a process that a later one with the same PID does not have: its boot id and start time. Returns null
 * when the process does not exist (a zombie counts as gone).
 */
export async function identityOf(
  { files, spawn }: Pick<Ports, 'files' | 'spawn'>,
  pid: number,
): Promise<string | null> {
  const boot = await files.readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => undefined)
  if (boot === undefined) return identityByPs(spawn, pid)
  const stat = await files.readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  if (stat === undefined) return null
  const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return state === 'Z' || state === 'X' ? null : `${boot.trim()}/${fields[START_TIME - 1]}`
}

/** Returns the id from `ps` where there is no /proc, as on macOS. */
function identityByPs(spawn: Ports['spawn'], pid: number): Promise<string | null> {
  return new Promise(resolve => {
    const ps = spawn('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { stdio: ['ignore', 'pipe', 'ignore'] })
    let text = ''
    ps.stdout?.on('data', chunk => {
      text += String(chunk)
    })
    ps.once('error', () => resolve(null))
    ps.once('close', () => {
      const [state = '', ...start] = text.trim().split(/\s+/)
      resolve(state === '' || state.startsWith('Z') ? null : start.join(' '))
    })
  })
}
