import { join } from 'node:path'

type Env = Readonly<Record<string, string | undefined>>

/** Names of environment variables that every program gets: search path, language and time zone. */
const HANDED_ON = /^(PATH|LANG|LANGUAGE|LC_[A-Z]+|TZ)$/
const PATH = '/usr/local/bin:/usr/bin:/bin'
/** Names of environment variables that hold secrets. */
const SECRET_NAME =
  /KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|AUTH|COOKIE|DSN|_URL$|_URI$|^SVC_|^SSH_|^GPG_|^AWS_|^PG/i
/** Names of environment variables that make a program load other code. */
const LOADING = /^(LD_|DYLD_|NODE_OPTIONS$|BASH_ENV$|ENV$|PYTHONSTARTUP$|PERL5OPT$|RUBYOPT$|GIT_)/

/**
 * Returns the environment of an agent's program: few variables, without secrets or paths outside its folders.
 * @param home the agent's own folder
 * @param secrets secret values; variables that contain one are removed
 */
export function cleanEnv(own: Env, home: string, cwd: string, passed: boolean, secrets: readonly string[]) {
  const isPassed = (name: string, value: string) =>
    HANDED_ON.test(name) ||
    (passed && !SECRET_NAME.test(name) && !LOADING.test(name) && !secrets.some(secret => value.includes(secret)))
  const kept = Object.entries(own).filter((entry): entry is [string, string] => {
    const [name, value] = entry
    return value !== undefined && isPassed(name, value)
  })
  return {
    PATH,
    ...Object.fromEntries(kept),
    HOME: home,
    TMPDIR: join(home, '.tmp'),
    PWD: cwd,
    TERM: 'dumb',
    NO_COLOR: '1',
  }
}
