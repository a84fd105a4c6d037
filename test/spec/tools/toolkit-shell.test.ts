import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, realpath, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { Sandbox } from '#safety/sandbox/contract'
import { Toolkits } from '#tools/toolkits/contract'
import file from '#tools/toolkits/file/index'
import shell from '#tools/toolkits/shell/index'
import { toolCall, until } from '../../support/index.ts'
import { httpServer } from '../../support/model/http.ts'
import {
  decide,
  finish,
  history,
  results,
  testHostWithApprovals,
  waitForCompletedGoal,
  waitForPendingCall,
} from '../safety/approvals-host.ts'
import { hands, type ToolHost } from './tool-host.ts'

const SECRET = 'the secret outside'
const hasWall = existsSync('/usr/bin/bwrap')

let home: ToolHost
const open = async (tools: Record<string, unknown> = {}, env: Record<string, string> = {}) => {
  home = await hands({ builtins: [file, shell], config: { tools }, env })
  await home.write({ 'outside/secret.txt': SECRET, 'outside/secret.json': `"${SECRET}"` })
}
const run = (command: string, more: Record<string, unknown> = {}) => home.use('shell_exec', { command, ...more })
const put = (name: string, text: string) => writeFile(join(home.workspace, name), text)
afterEach(() => home?.close())

describe.each(hasWall ? ['auto', 'off'] : ['off'])('a command, with the sandbox %s', sandbox => {
  beforeEach(() => open({ sandbox }))

  it('runs in the workspace with its arguments as they were quoted, and gives its output and exit code', async () => {
    await put('a b.txt', 'one\ntwo two\n')
    expect(await run(`grep -n "two two" 'a b.txt'`)).toBe('2:two two\n[exit code 0]')
    expect(await run(`grep -c nothing a\\ b.txt`)).toBe('0\n[exit code 1]')
    expect(await run('pwd')).toBe(`${home.workspace}\n[exit code 0]`)
    expect(await run('tr a-z A-Z', { input: 'shout' })).toBe('SHOUT\n[exit code 0]')
    expect(await run('ls none')).toContain('[Standard error output:]')
  })

  it('can create, copy, move, sort, compare and remove files', async () => {
    expect(await run('mkdir -p src/deep')).toBe('[exit code 0]')
    await put('src/a.txt', 'b\na\n')
    expect(await run('sort -o sorted.txt a.txt', { cwd: 'src' })).toBe('[exit code 0]')
    expect(await run('cp -r src copy')).toBe('[exit code 0]')
    expect(await run('diff -u src/a.txt copy/sorted.txt')).toContain('[exit code 1]')
    expect(await run('mv copy/sorted.txt .')).toBe('[exit code 0]')
    expect(await run('cat sorted.txt')).toBe('a\nb\n[exit code 0]')
    expect(await run('rm -rf src copy')).toBe('[exit code 0]')
    expect((await readdir(home.workspace)).filter(name => !name.startsWith('.'))).toEqual(['sorted.txt'])
    expect(await run('test -f sorted.txt')).toBe('[exit code 0]')
    expect(await run('date -u -d 2026-01-02 +%F')).toBe('2026-01-02\n[exit code 0]')
    expect(await run(`printf '%s-%s\\n' a b`)).toBe('a-b\n[exit code 0]')
    expect(await run(`jq -r .a`, { input: '{"a": "b"}' })).toMatch(/^b\n\[exit code 0\]$|has no such program/)
  })

  it('sees no environment variables of the service, and with shell_pass_env none that hold secrets', async () => {
    await home.close()
    const env = { OPENAI_API_KEY: 'canary-key', SVC_API_KEY: 'canary-svc', DATABASE_URL: 'canary-db', EDITOR: 'vi' }
    await open({ sandbox, shell_allow_dev_commands: true }, env)
    const seen = await run('env')
    expect(seen).not.toMatch(/canary|EDITOR/)
    expect(seen).toContain(`HOME=${home.workspace}\n`)
    expect(seen).toContain(`TMPDIR=${home.workspace}/.tmp\n`)
    await home.close()
    await open({ sandbox, shell_allow_dev_commands: true, shell_pass_env: true }, { ...env, OTHER: 'x canary-key y' })
    const passed = await run('env')
    expect(passed).toContain('EDITOR=vi')
    expect(passed).not.toContain('canary')
  })

  it("makes commits in the agent's name", async () => {
    await home.close()
    await open({ sandbox, shell_allow_dev_commands: true })
    await put('a.txt', 'one')
    for (const command of ['git init -q', 'git add a.txt', 'git commit -qm first'])
      expect(await run(command)).toContain('[exit code 0]')
    expect(await run('git log --format=%an,%cn,%ae')).toContain('coder-1,coder-1,coder-1@agents.invalid')
  })

  it('is ended with all its child processes, at its time limit and when it is cancelled', async () => {
    await home.close()
    await open({ sandbox, shell_allow_dev_commands: true, shell_timeout: 0.7 })
    const mark = `${Math.floor(Math.random() * 1e6)}.25`
    const running = () => execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' }).includes(`sleep ${mark}`)
    const command = `env sh -c "trap '' TERM; sleep ${mark} & sleep ${mark}"`
    expect(await run(command)).toContain('The program was stopped after')
    expect(running()).toBe(false)
    expect(await run(`env sh -c "sleep ${mark} >/dev/null 2>&1 & echo begun"`)).toBe('begun\n[exit code 0]')
    await until(() => !running())
    const stop = new AbortController()
    const stopped = home.use('shell_exec', { command: `env sleep ${mark}` }, { signal: stop.signal })
    await until(running)
    stop.abort(new Error('called off'))
    expect(await stopped).toBe('error: called off')
    expect(running()).toBe(false)
  })

  it('answers with the beginning and the end of a long output, and keeps all of it for file_read', async () => {
    await put('long.txt', Array.from({ length: 5000 }, (_, n) => `line ${n}`).join('\n'))
    const answer = await run('cat long.txt')
    expect(answer.length).toBeLessThan(9000)
    expect(answer).toMatch(/^line 0\n[\s\S]*characters are left out[\s\S]*line 4999\n/)
    const [, kept] = /The full output is in (\S+); read it with file_read/.exec(answer)!
    expect(await home.use('file_read', { path: kept, offset: 4998 })).toContain('line 4998')
    expect((await stat(join(home.workspace, kept!))).mode & 0o777).toBe(0o600)
  })

  it('says how much of an output the file lacks that is too long to be kept', async () => {
    await put('long.txt', 'line\n'.repeat(400_000))
    const answer = await run('cat long.txt')
    const [, characters] = /\[… (\d+) characters and 1000000 bytes are left out here …\]/.exec(answer)!
    expect(Number(characters)).toBeGreaterThan(900_000)
    expect(answer).toMatch(
      /\[The output without 1000000 bytes of its middle is in \.output\/\S+; read it with file_read\.\]/,
    )
    expect(answer).not.toContain('full output')
  })

  it('names binary output without showing it, but shows text with zero bytes', async () => {
    await writeFile(join(home.workspace, 'logo.png'), Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 0, 0, 0x0d]))
    expect(await run('cat logo.png')).toBe('[Binary output of 8 bytes, which is not shown.]\n[exit code 0]')
    await put('names', 'one\0two\0')
    expect(await run('cat names')).toBe('onetwo\n[exit code 0]')
  })
})

describe('the restricted shell', () => {
  beforeEach(() => open({ sandbox: 'off' }))

  /** Commands that a shell would interpret, or that would make a program reach outside. */
  const HOSTILE = [
    'ls; touch canary',
    'ls && touch canary',
    'ls || touch canary',
    'ls & touch canary',
    'ls | tee canary',
    'echo x > canary',
    'echo x >> canary',
    'cat < outside',
    'echo $(touch canary)',
    'echo `touch canary`',
    'echo "$(touch canary)"',
    'echo "`touch canary`"',
    'echo $HOME',
    'echo "$HOME"',
    'ls\ntouch canary',
    'ls *',
    'cat ~/x',
    'cat ~root/x',
    '(ls)',
    'ls\r\ntouch canary',
    'env sh -c "touch canary"',
    'sh -c "touch canary"',
    'bash -c ls',
    'find . -exec touch canary ;',
    'git -c alias.x=!touch x',
    'tar --to-command=sh -xf x.tar',
    'xargs touch',
    'awk x',
    'sed -i x y',
    'python3 -c x',
    'node -e x',
    '/bin/ls',
    './ls',
    '../ls',
    'LS',
    'sudo ls',
    'A=b ls',
    'exec ls',
    'eval ls',
    '. ls',
    'source ls',
    'command ls',
    'nohup ls',
    'cd ..',
    'constructor',
    '__proto__',
    'sort --compress-program=sh a',
    'sort --files0-from=/etc/passwd',
    'sort -T /tmp a',
    'sort -S1 a',
    'sort -o/etc/x a',
    'sort -o ../../../outside/x a',
    'sort --output=/etc/x a',
    'uniq a ../../../outside/x',
    'grep -eX /etc/passwd',
    'grep --regexp=X /etc/passwd',
    'grep --reg=X /etc/passwd',
    'grep -f /etc/passwd a',
    'grep -rf/etc/passwd a',
    'grep -R x link',
    'grep -ne X /etc/passwd',
    'grep X -- /etc/passwd',
    'grep -e X -- /etc/passwd',
    'wc --files0-from=/etc/passwd',
    'diff --from-file=/etc/passwd a',
    'diff a /etc/passwd',
    'date -f /etc/passwd',
    'date -r /etc/passwd',
    'date --file=/etc/passwd',
    'date -s 2020-01-01',
    'date 010100002020',
    'cp --target-directory=/tmp a',
    'cp -t /tmp a',
    'cp -t/tmp a',
    'cp -s /etc/passwd x',
    'cp -l a b',
    'cp -L link x',
    'cp a /tmp/x',
    'cp a ../../../outside/',
    'cp /etc/passwd .',
    'cp link x',
    'cp filelink x',
    'mv -t /tmp a',
    'mv a /tmp',
    'mv --target-directory=/tmp a',
    'touch -r /etc/passwd a',
    'touch /tmp/x',
    'mkdir ../../../outside/x',
    'mkdir link/x',
    'rm ../../../outside/secret.txt',
    'rm -r link/',
    'rm -rf .',
    'rm -rf ../coder-1',
    'rm --no-preserve-root -rf /',
    'cat /etc/passwd',
    'cat link/secret.txt',
    'cat filelink',
    'cat sub/../../../../outside/secret.txt',
    'cat inner/../../outside/secret.txt',
    'cat ../../../outside/secret.txt',
    'head -n1 /etc/passwd',
    'tail -f a',
    'tail --follow=name a',
    'tail --pid=1 a',
    'cat /proc/self/environ',
    'ls /proc/1',
    'ls -L link',
    'ls --hyperlink a',
    'test -e /etc/passwd',
    'test /etc/passwd -nt a',
    `jq -n 'import "secret" as $d {search: "/"}; $d'`,
    `jq -n 'include "x"; .'`,
    'jq -f /etc/passwd a',
    'jq -L / . a',
    'jq --slurpfile x /etc/passwd . a',
    'jq --rawfile x /etc/passwd . a',
    'jq . /etc/passwd',
    'jq -- . -L/',
    'which /etc/passwd',
    'which ../x',
    'pwd x/y',
    'cut -f1 /etc/passwd',
    'tr --help',
    'cp a .git/hooks/pre-commit',
    'mkdir .git',
    'mv a .GIT',
    'cat "unclosed',
    "cat 'unclosed",
    'cat a\\',
    '',
    '   ',
    'cat a\\\nb',
  ]

  it(`refuses each of ${HOSTILE.length} ways out, and reads and writes nothing outside`, async () => {
    await mkdir(join(home.workspace, 'sub/deep'), { recursive: true })
    await put('a', 'inside\n')
    await put('.jq', 'import "secret" as $d {search: "../../../outside"}; def leak: $d;')
    await symlink(join(home.root, 'outside'), join(home.workspace, 'link'))
    await symlink(join(home.root, 'outside/secret.txt'), join(home.workspace, 'filelink'))
    await symlink('sub/deep', join(home.workspace, 'inner'))
    const filesOutside = () =>
      execFileSync('find', [
        home.root,
        '-path',
        home.workspace,
        '-prune',
        '-o',
        '-path',
        '*/svc.db*',
        '-o',
        '-printf',
        '%p %s %T@\\n',
      ]).toString()
    const before = filesOutside()
    for (const command of HOSTILE) {
      const answer = await run(command)
      expect(answer, command).toMatch(/^error: |^✖|invalid|at least/)
      expect(answer, command).not.toContain(SECRET)
    }
    expect(filesOutside()).toBe(before)
    expect(existsSync(join(home.workspace, 'canary'))).toBe(false)
    expect(await run('jq -n leak')).not.toContain(SECRET)
  })

  it('writes through no link, not even one in the folder that it copies to', async () => {
    await put('secret.txt', 'planted')
    await mkdir(join(home.workspace, 'target'))
    await symlink(join(home.root, 'outside/secret.txt'), join(home.workspace, 'target/secret.txt'))
    await run('cp secret.txt target')
    expect(await readFile(join(home.root, 'outside/secret.txt'), 'utf8')).toBe(SECRET)
    expect(await readFile(join(home.workspace, 'target/secret.txt'), 'utf8')).toBe('planted')
    await run('mv secret.txt target')
    expect(await readFile(join(home.root, 'outside/secret.txt'), 'utf8')).toBe(SECRET)
    await symlink(join(home.root, 'outside'), join(home.workspace, 'target/link'))
    expect(await run('grep -r secret target')).not.toContain(SECRET)
    expect(await run('ls -R target')).not.toContain('secret.json')
  })

  it('says what to do instead of a refused command', async () => {
    expect(await run('ls | wc -l')).toBe(
      'error: Nothing was run: the command is a single program with its arguments, without a shell: "|" is refused; run one command at a time; give text to the next one as `input`.',
    )
    expect(await run('python3 -V')).toContain('set approval.enabled, or set tools.shell_allow_dev_commands')
    expect(await run('cd src')).toContain('give the folder as `cwd`')
    expect(await run('grep --colour x a')).toContain('it takes these options: -i -v')
    expect(await run('ls', { cwd: 'none' })).toContain('is not a folder')
    expect(await run('cat a', { cwd: '../..' })).toContain('lies outside your workspace')
  })

  it('requires approval, as does the full shell, which does not run while approvals are off', async () => {
    expect(home.kernel.points.find(Toolkits, 'shell')!.tools).toMatchObject([
      { name: 'shell_exec', requires_approval: true, danger: 'runs programs' },
      { name: 'process_output' },
      { name: 'process_stop' },
    ])
    await home.close()
    await open({ sandbox: 'off', shell_full: true })
    expect(await home.use('shell_script', { script: 'echo a | tr a b' })).toContain('approval.enabled is off')
    expect(home.kernel.points.find(Toolkits, 'shell')!.tools[1]).toMatchObject({
      name: 'shell_script',
      requires_approval: true,
    })
  })
})

describe('limits of a program', () => {
  it('apply to the size of files, to memory and to processor time', async () => {
    await open({
      shell_allow_dev_commands: true,
      process_file_mb: 1,
      process_memory_mb: 100,
      process_cpu_seconds: 1,
      sandbox: 'off',
      shell_timeout: 20,
    })
    await run('env head -c 3000000 /dev/zero')
    expect(await run(`env sh -c "head -c 3000000 /dev/zero > big"`)).toMatch(/SIGXFSZ|File size|exit code 1\d\d/)
    expect((await stat(join(home.workspace, 'big'))).size).toBe(1024 * 1024)
    expect(await run('env sh -c "while :; do :; done"')).toMatch(/SIGXCPU|SIGKILL/)
    // On a machine with little memory, the system ends the program first.
    const output = await run(`env tail /dev/zero`)
    expect(output).toMatch(/memory exhausted|SIGKILL/)
    expect(output).toContain('[Each process may use 100 MiB of memory (tools.process_memory_mb) and 1 s of')
  })
})

describe.runIf(hasWall)('the sandbox', () => {
  it('limits processes, and has Linux end programs before the service when memory runs out', async () => {
    await open({})
    const [score, limit] = (
      await run("cat /proc/self/oom_score_adj; sed -n 's/Max processes *//p' /proc/self/limits")
    ).split('\n')
    expect(score).toBe('1000')
    expect(limit).toMatch(/^4096 /)
  })

  it('hides files, processes, sockets and the network of the host from a program', async () => {
    await open({ shell_allow_dev_commands: true })
    await symlink('/etc/shadow', join(home.workspace, 'shadow'))
    await using server = await httpServer((_request, response) => response.end('reached'))
    expect(await run(`env cat ${home.root}/outside/secret.txt`)).toContain('No such file')
    expect(await run(`env ls ${home.root}`)).not.toContain('outside')
    expect(await run('env cat /etc/shadow')).toContain('No such file')
    expect(await run('env cat shadow')).toMatch(/No such file|outside/)
    expect(await run('env ls /root /home')).not.toContain('\n.')
    expect(await run('env touch /usr/x /x /etc/x')).toMatch(/(Read-only file system[\s\S]*){2}/)
    expect(await run('env grep -c processes /proc/self/status /proc/1/cmdline')).not.toContain('vitest')
    expect(await run(`env ls /proc/${process.pid}`)).toContain('No such file')
    expect(await run(`env grep CapEff /proc/self/status`)).toContain('0000000000000000')
    expect(await run(`curl -s -m 2 ${server.url}/`)).not.toContain('reached')
    expect(await run(`env sh -c "echo x > made && cat made"`)).toBe('x\n[exit code 0]')
    expect(await run('printf "b\\na\\n" > two && sort two | head -n 1; echo $?')).toBe('a\n0\n[exit code 0]')
    expect(await run('cat m*e')).toBe('x\n[exit code 0]')
    expect(await run('WORD=tide sh -c "echo unset" && ls none 2>&1 | wc -l')).toBe('unset\n1\n[exit code 0]')
    expect(await run(`cat ${home.root}/outside/secret.txt | head`)).not.toContain(SECRET)
    expect(await readFile(join(home.workspace, 'made'), 'utf8')).toBe('x\n')
    expect(await run(`env mount -t tmpfs x /tmp`)).not.toContain('exit code 0')
  })

  it('says that a file to run does not exist in the folder, or is not executable', async () => {
    await open()
    await mkdir(join(home.workspace, 'bin'))
    await put('plain.sh', 'echo ran\n')
    expect(await run('./x.sh', { cwd: 'bin' })).toBe(
      `error: Nothing was run: the file "./x.sh" does not exist in ${home.workspace}/bin.`,
    )
    expect(await run('./plain.sh')).toContain('plain.sh" was not run: it is no executable file.')
    expect(await run('no-such-program')).toContain('this machine has no such program')
  })

  it('runs the first program of a name that it can see, as a shell in it does', async () => {
    const shims = await folderWith()
    for (const name of ['uname', 'only-a-shim']) await writeFile(join(shims, name), '#!/bin/sh\n', { mode: 0o755 })
    await open({}, { PATH: `${shims}:/usr/bin:/bin` })
    expect(await run('uname')).toBe('Linux\n[exit code 0]')
    expect(await run('uname | cat')).toBe('Linux\n[exit code 0]')
    expect(await run('only-a-shim')).toContain(`it is ${shims}/only-a-shim, which is not visible inside the sandbox`)
  })

  it('leaves no process behind at the time limit, not even one in a session of its own', async () => {
    await open({ shell_allow_dev_commands: true, shell_timeout: 0.7 })
    const mark = `${Math.floor(Math.random() * 1e6)}.75`
    expect(await run(`env setsid sleep ${mark}`)).toContain('The program was stopped after')
    await until(() => !execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' }).includes(`sleep ${mark}`))
  })

  it('is reported at start and by sandbox.status', async () => {
    await open()
    const status = await home.kernel.invoke('sandbox.status', {})
    expect(status).toMatchObject({ mode: 'auto', wall: 'bubblewrap', network: false })
    await until(() => home.logged('programs of agents run in a sandbox').length === 1)
  })
})

describe('programs without a sandbox', () => {
  it('are not waited for after they have left the process group', async () => {
    await open({ sandbox: 'off', shell_allow_dev_commands: true, shell_timeout: 20 })
    const begun = performance.now()
    expect(await run('env sh -c "setsid sleep 15 & echo begun"')).toBe('begun\n[exit code 0]')
    expect(performance.now() - begun).toBeLessThan(10_000)
  })

  it('run when bubblewrap does not work, and the status quotes its error', async () => {
    const folder = await folderWith('ls', 'true')
    await writeFile(join(folder, 'bwrap'), '#!/bin/sh\necho "No permissions to create a namespace" >&2\nexit 1\n', {
      mode: 0o755,
    })
    await open({}, { PATH: folder })
    expect(await home.kernel.use(Sandbox).status()).toMatchObject({
      wall: 'none',
      reason: 'bubblewrap does not work here: No permissions to create a namespace',
    })
    expect(await run('ls')).toBe('[exit code 0]')
  })

  it('run with a warning in the log, but are refused when the sandbox is required', async () => {
    await open({}, { PATH: await folderWith('ls', 'true') })
    expect(await run('ls')).toBe('[exit code 0]')
    await until(() => home.logged('without a sandbox: bubblewrap (bwrap) is not installed').length === 1)
    expect(await home.kernel.use(Sandbox).status()).toMatchObject({ wall: 'none', network: true })
    await home.close()
    await open({ sandbox: 'required' }, { PATH: await folderWith('ls', 'true') })
    expect(await run('ls')).toContain('tools.sandbox is "required", and bubblewrap (bwrap) is not installed')
  })
})

/** Creates a folder with only these programs. */
async function folderWith(...names: string[]): Promise<string> {
  const folder = join(
    await realpath(home?.root ?? '/tmp').catch(() => '/tmp'),
    `bin-${Math.floor(Math.random() * 1e9)}`,
  )
  await mkdir(folder, { recursive: true })
  onTestFinished(() => void execFileSync('rm', ['-rf', folder]))
  for (const name of names) await symlink(join('/usr/bin', name), join(folder, name))
  return folder
}

describe('an agent with approvals on', () => {
  it('has its command run only after a person has approved it', async () => {
    const made = `mkdir made-${Math.floor(Math.random() * 1e6)}`
    const agent = await testHostWithApprovals([toolCall('shell_exec', { command: made }), finish()], {
      builtins: [shell],
      env: { PATH: process.env.PATH! },
    })
    onTestFinished(() => agent.close())
    const { approval_id, tool_name } = await waitForPendingCall(agent)
    expect(tool_name).toBe('shell_exec')
    const workspace = join(agent.root, '.svc/workspaces', agent.id)
    expect(await readdir(workspace)).toEqual([])
    await decide(agent, approval_id, { decision: 'approve' })
    await waitForCompletedGoal(agent)
    expect(await readdir(workspace)).toContain(made.split(' ')[1])
    expect(results(agent.server)).toContain('[exit code 0]')
  })

  it('reads what is wrong with a command at once, and no person is asked', async () => {
    const agent = await testHostWithApprovals([toolCall('shell_exec', { command: 'ls', cwd: 'gone' }), finish()], {
      builtins: [shell],
      env: { PATH: process.env.PATH! },
    })
    onTestFinished(() => agent.close())
    await waitForCompletedGoal(agent)
    expect(results(agent.server)[0]).toMatch(/^Error: .*"gone" is not a folder/)
    expect(await history(agent, agent.id)).toEqual([])
  })

  it('cannot bypass approval: files that decide on it are closed to its file tools and commands', async () => {
    await open({ sandbox: 'off' })
    const before = await readFile(join(home.root, '.svc/config.yaml'), 'utf8')
    for (const path of [
      '.svc/config.yaml',
      'plugins/x.ts',
      'profiles/x.yaml',
      'logs/x',
      '.svc/svc.db',
      '.svc/daemon.pid',
    ]) {
      for (const way of [`../../../${path}`, join(home.root, path)]) {
        expect(await home.use('file_write', { path: way, content: 'x' }), way).toContain('lies outside your workspace')
        for (const command of [`touch ${way}`, `cp a ${way}`, `sort -o ${way} a`, `rm -f ${way}`, `cat ${way}`]) {
          expect(await run(command), command).toContain('lies outside your workspace')
        }
      }
    }
    expect(await readFile(join(home.root, '.svc/config.yaml'), 'utf8')).toBe(before)
    expect(existsSync(join(home.root, 'plugins/x.ts'))).toBe(false)
  })
})
