import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import type { Goal } from '#core/goals/contract'
import type { Approval, ApprovalSummary } from '#safety/approvals/contract'
import { project } from '../../cli/project.ts'
import { type ModelServerRequest, modelServer, RunningSvc, type TempDir, text, toolCall } from '../../support/index.ts'
import Sqlite from '../../support/sqlite.ts'
import { svc } from '../../support/vitest/warm.ts'

const PLUGIN = `
import { definePlugin, tool, z } from 'svc'
export default definePlugin({
  name: 'post',
  setup(svc) {
    svc.toolkit({ name: 'post', tools: [tool({
      name: 'send', description: 'Sends.', danger: 'cannot be taken back', parameters: z.object({ to: z.string() }),
      async execute({ to }) {
        await svc.ports.files.appendFile(svc.project.root + '/sent.log', to + '\\n')
        return 'sent'
      },
    })] })
  },
})`

const HOSTILE = 'ann\u001b[2J\u001b]0;owned\u0007\r\u202egnp.exe\u200b\u2028x'

/** A project whose only agent sends to these recipients, one after another. */
async function posting(
  to: string[],
): Promise<{ dir: TempDir; options: { cwd: string; env: Record<string, string> } } & AsyncDisposable> {
  const script = ({ body, prompt }: ModelServerRequest) => {
    if (prompt.includes('"goal":'))
      return text(prompt.includes('Recent goals') ? '' : '{"goal": "Send word to everybody"}')
    const done = body.messages.filter(({ role }) => role === 'tool').length
    return done < to.length ? toolCall('send', { to: to[done] }) : toolCall('finish_goal', { summary: 'done' })
  }
  const server = await modelServer({ script })
  const config = 'daemon:\n  heartbeat: 0.2\n  min_rest: 0.05\napproval:\n  enabled: true\n'
  const dir = await project({
    '.svc/config.yaml': config,
    'plugins/post.ts': PLUGIN,
    'profiles/p.yaml': 'name: p\nrole: posts\n',
  })
  const env = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'test-key', OPENAI_MODEL: 'scripted' }
  return {
    dir,
    options: { cwd: dir.path, env },
    async [Symbol.asyncDispose]() {
      await server.close()
      await dir[Symbol.asyncDispose]()
    },
  }
}

describe('svc approvals, approve and deny', () => {
  it('show short arguments before long ones, also where the summary cuts them', async () => {
    const write = toolCall('file_write', { content: 'high water '.repeat(50), path: 'tides.md' })
    await using server = await modelServer({
      script: ({ prompt }) => (prompt.includes('Goal: ') ? write : text('{"goal": "Write down the tides"}')),
    })
    await using dir = await project({
      '.svc/config.yaml': 'daemon:\n  heartbeat: 0.2\napproval:\n  enabled: true\n  require_for: [file_write]\n',
    })
    const env = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'test-key', OPENAI_MODEL: 'scripted' }
    const stdoutOf = async (words: string[]) => (await svc(words, { cwd: dir.path, env })).stdout
    await stdoutOf(['spawn', 'coder'])
    await using _daemon = new RunningSvc(['start'], { cwd: dir.path, env })
    await vi.waitUntil(async () => (await stdoutOf(['approvals'])).startsWith('ap-'), {
      timeout: 20_000,
      interval: 100,
    })
    for (const words of [['approvals'], ['summary']])
      expect(await stdoutOf(words)).toContain('{"path":"tides.md","content":"high water ')
  })

  it('show pending calls with escaped control characters and decide them, with and without a daemon', async () => {
    await using host = await posting([HOSTILE, 'bob', 'cy'])
    const { options } = host
    const json = async <T>(...words: string[]) => JSON.parse((await svc([...words, '--json'], options)).stdout) as T
    expect((await svc(['approvals'], options)).stdout).toBe('no matching approvals\n')
    expect((await svc(['approvals', '-s', 'denied'], options)).stdout).toBe('no results with status denied\n')
    // Query the database directly: repeated commands would take most of the test's time.
    const db = new Sqlite(join(options.cwd, '.svc/svc.db'))
    const find = <T>(sql: string, ...params: string[]) =>
      vi.waitUntil(() => db.prepare(sql).get(...params) as T | undefined, { timeout: 40_000, interval: 20 })
    const waiting = async (to: string) => {
      const sql = "SELECT approval_id FROM approvals WHERE status = 'pending' AND arguments = ?"
      return (await find<{ approval_id: string }>(sql, JSON.stringify({ to }))).approval_id
    }
    let denied: string
    await svc(['spawn', 'p', '--name', 'poster'], options)
    {
      await using _daemon = new RunningSvc(['start'], options)
      const first = await waiting(HOSTILE)
      for (const words of [['approvals'], ['approvals', 'show', first]]) {
        const { stdout, code } = await svc(words, options)
        expect(code).toBe(0)
        expect(stdout).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u)
        expect(stdout).toMatch(/^ap-\w+ {2}p-\w+ \(poster\) {2}send \(cannot be taken back\)/)
        expect(stdout).toMatch(/ann\\+(u001b|x1b)\[2J/)
        // Nothing is inserted into the value, such as the indentation of output lines.
        expect(stdout).toMatch(/\\u2028x"/)
      }
      const approved = await json<Approval>('approve', first, '--arguments', '{"to":"ann"}', '--reason', 'cleaned')
      expect(approved).toMatchObject({ status: 'approved', resolved_by: 'cli', edited: true })
      const again = await svc(['deny', first], options)
      expect(again).toMatchObject({ code: 1, stdout: '' })
      expect(again.stderr).toMatch(/was already approved, by cli/)
      denied = await waiting('bob')
      expect(await _daemon.end('SIGTERM')).toBe(0)
    }
    // No daemon is running: the decision waits in the database.
    expect((await json<Approval>('deny', denied, '--reason', 'not Bob')).resolved_by).toBe('cli')
    expect((await svc(['why', 'poster'], options)).stdout).toMatch(/No daemon is running. Start it with: svc start/)
    await using _again = new RunningSvc(['start'], options)
    await svc(['approve', await waiting('cy')], options)
    await find("SELECT 1 FROM goals WHERE status = 'completed'")
    db.close()
    expect(await readFile(join(host.dir.path, 'sent.log'), 'utf8')).toBe('ann\ncy\n')
    expect((await svc(['approve', 'ap-nothing'], options)).stderr).toMatch(/no approval "ap-nothing"/)
    expect((await svc(['approve', denied.slice(0, 6)], options)).code).toBe(1)
    const history = await json<ApprovalSummary[]>('approvals', '--status', 'all')
    expect(history.map(each => each.status)).toEqual(['consumed', 'denied', 'consumed'])
  }, 120_000)

  it('grant, list and revoke rules', async () => {
    await using host = await posting([])
    const run = (...words: string[]) => svc(words, host.options)
    expect(await run('approvals', 'grant', 'send')).toMatchObject({ code: 2 })
    const granted = await run('approvals', 'grant', 'send', '--arguments', '{"to":{"glob":"*@here"}}', '--uses', '3')
    expect(granted.stdout).toMatch(/^rule-[0-9a-f]{8} {2}send {2}any agent .*used 0 of 3 times, by cli$/m)
    const [id = ''] = granted.stdout.split(' ')
    expect((await run('approvals', 'rules')).stdout).toContain(id)
    expect(await run('approvals', 'revoke', id)).toMatchObject({ code: 0 })
    expect((await run('approvals', 'rules')).stdout).toMatch(/no rules/)
    expect((await run('approvals', 'rules', '--all')).stdout).toMatch(/revoked by cli/)
  })
})

describe('svc goals abandon', () => {
  it('abandons one goal, those of an agent, or all, and needs an argument', async () => {
    await using host = await posting([])
    const run = (...words: string[]) => svc(words, host.options)
    await run('spawn', 'p')
    for (const objective of ['Count the spoons', 'Count the forks', 'Count the knives'])
      await run('goals', 'add', 'p', objective)
    expect((await run('goals', 'abandon')).code).toBe(2)
    const goals = JSON.parse((await run('goals', 'p', '--json')).stdout) as Goal[]
    expect((await run('goals', 'abandon', goals[0]!.goal_id, '-r', 'enough')).stdout).toBe(
      `${goals[0]!.goal_id}: abandoned\n`,
    )
    expect((await run('goals', 'prioritize', goals[1]!.goal_id, '9')).stdout).toContain('priority 9')
    expect((await run('goals', 'acceptance', goals[1]!.goal_id)).code).toBe(2)
    expect((await run('goals', 'acceptance', goals[1]!.goal_id, '--accept-file', 'forks.md')).stdout).toContain(
      'counts as reached when:\n    … the file forks.md exists',
    )
    expect((await run('goals', 'abandon', '--agent', 'p')).stdout.match(/abandoned/g)).toHaveLength(2)
    expect((await run('goals', 'abandon', '--all')).stdout).toBe('no goals were active\n')
  })
})
