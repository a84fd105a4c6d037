import { spawn } from 'node:child_process'
import { mkdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import type { CommandTree } from '#interfaces/cli/contract'
import { printable } from '#interfaces/cli/screen/printable'
import { removeControlCharacters } from '#lib/sanitize'
import { RunningSvc } from '../support/cli.ts'
import { tempDir } from '../support/temp.ts'
import { svc } from '../support/vitest/warm.ts'
import { runInProcess } from './in-process.ts'
import { project } from './project.ts'

// The modules of clipanion are written for bundlers; Node itself can load only its CommonJS.
vi.mock('clipanion', () => createRequire(import.meta.url)('clipanion') as object)

const version = JSON.parse(await readFile('package.json', 'utf8')).version as string

describe('command lookup', () => {
  it('svc --version prints the version of the package', async () => {
    await using dir = await tempDir()
    expect(await svc(['--version'], { cwd: dir.path })).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
    const { stdout } = await svc(['--version', '--json'], { cwd: dir.path })
    expect(JSON.parse(stdout)).toEqual({ version })
  })

  it('help shows the main commands on one screen, all of them on request, and one in full', async () => {
    await using dir = await tempDir()
    const first = await svc(['--help'], { cwd: dir.path })
    expect(first.code).toBe(0)
    expect(first.stdout.split('\n').length).toBeLessThanOrEqual(40)
    expect(first.stdout.match(/^ {2}\w+/gm)).toHaveLength(20)
    const all = await svc(['help', '--all'], { cwd: dir.path })
    expect(all.code).toBe(0)
    for (const word of ['init', 'start', 'stop', 'restart', 'serve', 'daemon', 'spawn', 'status', 'pause', 'nudge']) {
      expect(all.stdout).toMatch(new RegExp(`^  ${word}\\b`, 'm'))
    }
    const one = await svc(['serve', '--help'], { cwd: dir.path })
    expect(one.stdout).toMatch(/-p, --port <number> .*\(default: 8000\)/)
    expect(one.stdout).not.toContain('#0')
  })

  it.each([[['db', '--help']], [['help', 'db']]])('%j lists the commands that begin with it', async words => {
    await using dir = await tempDir()
    const { code, stdout } = await svc(words, { cwd: dir.path })
    expect(code).toBe(0)
    for (const name of ['backup', 'restore', 'check', 'move', 'up'])
      expect(stdout).toMatch(new RegExp(`^  db ${name}`, 'm'))
  })

  it.each([
    [['--jsn', 'status'], 'no command "--jsn"; list them with: svc --help'],
    [['db'], 'svc db --help'],
    [['stauts'], 'svc status'],
    [['srat'], 'svc start'],
    [['goals', 'prioritize'], 'goal_id'],
    [['ask', 'coder', 'hello'], 'svc run <id>'],
    [['unpause', 'coder'], 'svc resume <id>'],
    [['backup'], 'svc db backup'],
  ])('%j fails and suggests what was meant', async (words, meant) => {
    await using dir = await tempDir()
    const { code, stdout, stderr } = await runInProcess(words, dir.path)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(meant)
  })

  it.each([
    [['spawn'], /<preset> is missing/],
    [['plugins', 'list'], /no command "plugins list"; did you mean "svc plugins"/],
    [['spawn', 'coder', '--modl', 'x'], /no option --modl; did you mean --model\?/],
    [['spawn', 'coder', '--model'], /--model needs a value/],
    [['spawn', 'coder', 'writer'], /unexpected argument "writer"/],
    [['start', '--heartbeat', '0'], /--heartbeat takes seconds/],
    [['start', '--heartbeat', '-1'], /--heartbeat takes seconds/],
    [['start', '-b', '-1'], /--heartbeat takes seconds.*not "-1"/],
    [['start', '--heartbeat', 'abc'], /--heartbeat takes seconds/],
    [['start', '--heartbeat', '1e9'], /--heartbeat takes seconds/],
    [['serve', '-p', '99999'], /--port takes a whole number from 0 to 65535, not "99999"/],
    [['logs', '--lines', '1.5'], /--lines takes a whole number/],
    [['logs', '--level', 'loud'], /--level is one of debug, info, warn, error, not "loud"/],
    [['completion', 'tcsh'], /<shell> is one of bash, zsh, fish/],
    [['stop', '--timeout', 'soon'], /--timeout takes seconds/],
    [['history', 'coder', '--limit', 'many'], /limit/],
  ])('an error in the arguments exits with 2 and prints nothing on standard output: %j', async (words, sentence) => {
    await using dir = await project()
    const before = await readFile(join(dir.path, '.svc/config.yaml'), 'utf8')
    const { code, stdout, stderr } = await runInProcess(words, dir.path)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(sentence)
    expect(stderr).not.toMatch(/^ +at /m)
    expect(await readFile(join(dir.path, '.svc/config.yaml'), 'utf8')).toBe(before)
  })
})

it('the last line of an error with --json is JSON with the fields of a problem document', async () => {
  await using dir = await project()
  const refuse = async (...words: string[]) => {
    const { code, stdout, stderr } = await svc(words, { cwd: dir.path })
    const [sentence, ...lines] = stderr.trimEnd().split('\n')
    expect({ words, stdout, sentence }).toEqual({ words, stdout: '', sentence: expect.stringMatching(/^svc: /) })
    return { exit: code, ...(JSON.parse(lines.at(-1)!) as { error: object }) }
  }
  expect(await refuse('agent', 'nobody', '--json')).toEqual({
    exit: 1,
    error: {
      code: 'agent_not_found',
      title: 'Agent not found',
      status: 404,
      detail: 'No agent has the id or name "nobody"; list them with: svc status',
    },
  })
  await svc(['spawn', 'coder'], { cwd: dir.path })
  expect(await refuse('agent', 'codr', '--json')).toMatchObject({
    error: { detail: 'No agent has the id or name "codr"; did you mean "coder"?' },
  })
  expect(await refuse('--json', 'history', 'coder', '--limit', '0')).toMatchObject({
    exit: 2,
    error: { code: 'invalid_input', status: 422, errors: [{ path: 'limit' }] },
  })
  expect(await refuse('stauts', '--json')).toMatchObject({ exit: 2, error: { code: 'unknown_command' } })
  expect((await svc(['nudge', 'nobody', '--', '--json'], { cwd: dir.path })).stderr).toMatch(/^svc: No agent/)
})

describe('project lookup', () => {
  it('a command without a project says how to create one', async () => {
    await using dir = await tempDir()
    for (const words of [['status'], ['start'], ['stop'], ['serve', '--port', '0'], ['daemon']]) {
      const { code, stdout, stderr } = await runInProcess(words, dir.path)
      expect({ words, code, stdout }).toEqual({ words, code: 1, stdout: '' })
      expect(stderr).toMatch(/^svc: There is no project in .*svc init\n$/)
    }
  })

  it('the project is found upwards from the current folder, by --root and by SVC_ROOT', async () => {
    await using dir = await project()
    await using elsewhere = await tempDir()
    const below = join(dir.path, 'a', 'b')
    await mkdir(below, { recursive: true })
    const answers = [
      await svc(['stop', '--json'], { cwd: below }),
      await svc(['stop', '--json', '--root', dir.path], { cwd: elsewhere.path }),
      await svc(['--root', dir.path, 'stop', '--json'], { cwd: elsewhere.path }),
      await svc(['--json', '--root', dir.path, 'stop'], { cwd: elsewhere.path }),
      await svc(['stop', '--json'], { cwd: elsewhere.path, env: { SVC_ROOT: dir.path } }),
    ]
    expect(answers).toEqual(answers.map(() => ({ code: 0, stdout: '{\n  "stopped": []\n}\n', stderr: '' })))
  })
})

describe('command output', () => {
  it('examples in the help are valid commands, even if what they name does not exist', async () => {
    // Agents that work would only take the commands' processor time.
    await using dir = await project({ '.svc/config.yaml': 'daemon:\n  heartbeat: 3600\n' })
    await using daemon = new RunningSvc(['start', '-p', 'coder,writer'], { cwd: dir.path })
    const [, coder] = await daemon.waitForOutput(/^Agents: +(coder-\w+)/m)
    const { commands } = JSON.parse(await readFile('dist/commands.json', 'utf8')) as CommandTree
    const examples = commands.filter(({ operation }) => operation).map(({ example }) => example)
    expect(examples.length).toBeGreaterThan(100)
    const mistaken: string[] = []
    for (const example of examples.toSorted(
      (a, b) => Number(a.startsWith('svc kill')) - Number(b.startsWith('svc kill')),
    )) {
      const [, ...words] = [...example.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare!)
      const { code, stderr } = await svc(
        words.map(word => word.replace('coder-1a2b3c4d', coder!)),
        { cwd: dir.path },
      )
      if (code === 2) mistaken.push(`${example}: ${stderr}`)
    }
    expect(mistaken).toEqual([])
  })

  it('a reader that closes the pipe is no error', async () => {
    await using dir = await project()
    const program = join(process.cwd(), 'dist/svc.js')
    const shell = spawn('bash', ['-c', `set -o pipefail; node ${program} --help | head -1`], { cwd: dir.path })
    let printed = ''
    shell.stderr.on('data', text => {
      printed += text
    })
    const code = await new Promise(done => shell.once('close', done))
    expect({ code, printed }).toEqual({ code: 0, printed: '' })
  })

  it('output larger than the buffer of a pipe arrives whole', async () => {
    const long =
      "svc.operation({ name: 'long', summary: 's', input: z.object({}), output: z.string(), cli: { usage: 'long' }, run: () => 'x'.repeat(300_000) })"
    await using dir = await project({
      'plugins/long.ts': `import { definePlugin, z } from 'svc'\nexport default definePlugin({ name: 'long', setup: svc => void ${long} })`,
    })
    const program = join(process.cwd(), 'dist/svc.js')
    const shell = spawn('bash', ['-c', `node ${program} long --json | wc -c`], { cwd: dir.path })
    let printed = ''
    shell.stdout.on('data', text => {
      printed += text
    })
    await new Promise(done => shell.once('close', done))
    expect(printed.trim()).toBe('300003')
  })

  it('text of an agent cannot pass for a line of a list', async () => {
    await using dir = await project()
    const text = 'Look\n✓ goal-000000000000  approved'
    await svc(['spawn', 'coder'], { cwd: dir.path })
    const lists = [['goals', 'coder'], ['schedules'], ['alarms']] as const
    await svc(['goals', 'add', 'coder', text], { cwd: dir.path })
    await svc(['schedules', 'add', 'coder', text, '--every', '3600'], { cwd: dir.path })
    await svc(['alarms', 'set', 'coder', '23:59', text], { cwd: dir.path })
    for (const words of lists) {
      const { stdout } = await svc([...words], { cwd: dir.path })
      expect(stdout).toContain('Look ✓ goal-000000000000 approved')
    }
  })

  it('lists of goals have no second mark after an objective that ends with a full stop', async () => {
    await using dir = await project()
    await svc(['spawn', 'coder'], { cwd: dir.path })
    await svc(['goals', 'add', 'coder', 'Fix README.md.'], { cwd: dir.path })
    await svc(['goals', 'abandon', '--all', '--reason', 'Not needed.'], { cwd: dir.path })
    const { stdout } = await svc(['goals', 'coder'], { cwd: dir.path })
    expect(stdout).toMatch(/^✗ goal-\w+ {2}[\d: -]+ {2}Fix README\.md: Not needed\.$/m)
  })

  it('work for an agent is recorded without a daemon, which standard error says', async () => {
    await using dir = await project()
    await svc(['spawn', 'coder'], { cwd: dir.path })
    for (const [words, printed] of [
      [['goals', 'add', 'coder', 'Read a book'], /^… goal-\w+ {2}Read a book\n$/],
      [['nudge', 'coder', 'Look'], /^nudge-/],
      [['schedules', 'add', 'coder', 'Look', '--every', '3600'], /^sched-/],
      [['resume', 'coder'], /^coder-\w+: idle\n$/],
      [['daemon', 'resume'], /^not frozen; /],
    ] as const) {
      const { stdout, stderr } = await svc([...words], { cwd: dir.path })
      expect(stdout).toMatch(printed)
      expect(stderr).toContain('No daemon is running. Start it with: svc start')
    }
  })

  it('a goal is listed on one line, cut with an ellipsis, and shown in full by goals show and --json', async () => {
    await using dir = await project()
    const objective = `Read ${'many '.repeat(30)}books`
    await svc(['spawn', 'coder'], { cwd: dir.path })
    await svc(['goals', 'add', 'coder', objective], { cwd: dir.path })
    const { stdout } = await svc(['goals', 'coder'], { cwd: dir.path })
    expect(stdout).toMatch(/^… goal-\w+ {2}Read (many )+(many|man|ma|m)?…\n$/)
    const [goal] = JSON.parse((await svc(['goals', 'coder', '--json'], { cwd: dir.path })).stdout)
    expect(goal.objective).toBe(objective)
    expect((await svc(['goals', 'show', goal.goal_id], { cwd: dir.path })).stdout).toContain(objective)
  })

  it('output into a pipe is not coloured', async () => {
    await using dir = await project()
    const said = [await svc(['--help'], { cwd: dir.path }), await svc(['nosuch'], { cwd: dir.path })]
    expect(JSON.stringify(said)).not.toContain('\\u001b')
  })

  it('text to and from agents cannot control the terminal, and any characters arrive unchanged', async () => {
    await using dir = await project()
    const role = 'a\x1b[2J\x1b]0;owned\x07\r\u202egnp.exe\u200b\x9b31m'
    await svc(['spawn', 'coder'], { cwd: dir.path })
    const edited = await svc(['edit', 'coder', '--role', role], { cwd: dir.path })
    const shown = [edited, await svc(['status'], { cwd: dir.path }), await svc(['status', '--json'], { cwd: dir.path })]
    for (const { code, stdout } of shown) {
      expect(code).toBe(0)
      expect(stdout).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u)
    }
    expect(shown[1]!.stdout).toContain('\\x1b[2J')
    expect(await svc(['pause'], { cwd: dir.path })).toMatchObject({ code: 2, stdout: '' })
    expect(JSON.parse(shown[2]!.stdout)[0].role).toBe(role)
    const nudged = await svc(['nudge', 'coder', '--', 'one\ntwo', '🦊', '--three'], { cwd: dir.path })
    expect(nudged).toMatchObject({ code: 0, stdout: expect.stringMatching(/nudge-[0-9a-f]{8}/) })
  })
})

it('joiners that change how a word or an emoji looks stay, and invisible ones are shown', () => {
  for (const text of [
    '\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645',
    '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}',
    '\u0915\u094d\u200d\u0937',
    '\u2764\ufe0f 1\ufe0f\u20e3',
  ]) {
    expect(printable(text)).toBe(text)
    expect(removeControlCharacters(text)).toBe(text)
  }
  for (const text of [
    'rm\u200dx',
    'a\u200cb',
    '\u0627\u200c\u0628',
    '\u0645\u200c\u200c\u062e',
    '\u200d\u{1f468}',
    'a\u094d\u200cb\u200d',
  ])
    expect(printable(text), text).toMatch(/\\u200[cd]/)
  for (const hidden of ['\u{e0041}', '\u{e0101}', 'a\ufe01', '\u2764\ufe0f\ufe0f', '\u3164', '\u034f', '\u180b']) {
    expect(printable(hidden), hidden).toMatch(/\\u/)
    expect(removeControlCharacters(hidden)).not.toBe(hidden)
  }
})

it('output that cannot be written is an error, except into a closed pipe', async () => {
  await using dir = await project()
  const run = (to: string, words: string[], env = {}) =>
    new RunningSvc(words, { cwd: dir.path, within: ['sh', '-c', `"$@" ${to}`, 'sh'], env })
  await using full = run('> /dev/full', ['config', '--json'])
  expect(await full.ended).toBe(1)
  expect(full.stderr).toBe('svc: standard output cannot be written: the disk is full; free some space.\n')
  await using piped = run('| true', ['config', '--json'], { NO_COLOR: '1', FORCE_COLOR: '1' })
  expect(await piped.ended).toBe(0)
  expect(piped.stderr).toBe('')
})

describe('startup cost', () => {
  it('help takes less than four times the CPU time of a bare Node process', async () => {
    const bare = await cpuOf(['-e', '0'])
    const help = await cpuOf([join(process.cwd(), 'dist/svc.js'), '--help'])
    console.log(`svc --help: ${help} ms of CPU, node -e 0: ${bare} ms (least of 7)`)
    // Quiet or busy, it takes two to three times as long as Node alone; more means a module that is loaded too early.
    expect(help / bare).toBeLessThan(4)
  })
})

/** Returns the CPU time of a Node process, user and system, in milliseconds: the least of seven runs. */
async function cpuOf(words: readonly string[]): Promise<number> {
  const costs: number[] = []
  for (let run = 0; run < 7; run++) {
    const script = 'TIMEFORMAT="%U %S"; time "$@" >/dev/null 2>&1'
    const shell = spawn('bash', ['-c', script, 'bash', process.execPath, ...words], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let printed = ''
    shell.stderr.on('data', text => {
      printed += text
    })
    await new Promise(done => shell.once('close', done))
    const [user = 0, system = 0] = printed.trim().split(' ').map(Number)
    costs.push(Math.round((user + system) * 1000))
  }
  return Math.min(...costs)
}
