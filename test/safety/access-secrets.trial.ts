import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import type { CommandTree } from '#interfaces/cli/contract'
import { FAST, project } from '../cli/project.ts'
import { RunningSvc } from '../support/cli.ts'
import { modelServer, text } from '../support/index.ts'
import { until } from '../support/until.ts'
import { svc } from '../support/vitest/warm.ts'

const KEY = 'sk-a-key-that-must-show-nowhere-1234'

/** Prepends the key to every free-text value in the database. */
function putKeyIntoRows(file: string): void {
  const database = new Database(file)
  const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").pluck().all() as string[]
  for (const table of tables.filter(name => !/^sqlite_|_fts|umzug|migrations/.test(name))) {
    const columns = database.pragma(`table_info("${table}")`) as { name: string; type: string }[]
    for (const { name } of columns.filter(({ type }) => type === 'TEXT')) {
      const text = `"${name}" LIKE '% %' AND "${name}" NOT LIKE '{%' AND "${name}" NOT LIKE '[%'`
      try {
        database.exec(`UPDATE "${table}" SET "${name}" = '${KEY} ' || "${name}" WHERE ${text}`)
      } catch {
        // A column with a check constraint holds no free text.
      }
    }
  }
  database.close()
}

/** Returns the read commands with arguments for this agent, without those that follow a stream. */
async function readingCommands(agent: string, goal: string): Promise<string[][]> {
  const tree = JSON.parse(await readFile('dist/commands.json', 'utf8')) as CommandTree
  return tree.commands
    .filter(({ operation }) => operation?.http?.method === 'GET' && !operation.endless)
    .map(({ path, arguments: places }) => [
      ...path,
      ...places.filter(({ required }) => required).map(({ field }) => (field.includes('goal') ? goal : agent)),
    ])
}

describe('a secret in the rows of an agent', () => {
  it('appears in no output of a read command, with a daemon and without one', async () => {
    await using dir = await project(FAST)
    const run = (words: readonly string[], env: Record<string, string> = {}) => svc(words, { cwd: dir.path, env })
    const agent = /coder-[0-9a-f]{8}/.exec((await run(['spawn', 'coder'])).stdout)![0]
    const goals = async () =>
      JSON.parse((await run(['goals', agent, '--json'])).stdout) as { goal_id: string; status: string }[]
    {
      await using daemon = new RunningSvc(['start'], { cwd: dir.path })
      await daemon.waitForOutput(/^Logs: /m)
      await until(async () => (await goals()).some(({ status }) => status === 'completed'))
      await daemon.end('SIGTERM')
    }
    putKeyIntoRows(join(dir.path, '.svc', 'svc.db'))
    const [goal] = await goals()
    const reading = await readingCommands(agent, goal!.goal_id)
    const forms = reading.flatMap(words => [words, [...words, '--json']])
    const showing = async (env: Record<string, string>, tried = forms, enough = tried.length) => {
      const shown: string[] = []
      for (const words of tried) {
        if (shown.length === enough) break
        const { stdout, stderr } = await run(words, env)
        if ((stdout + stderr).includes(KEY)) shown.push(words.join(' '))
      }
      return shown
    }
    // Without masking it is shown, so the rows do contain it.
    expect(await showing({}, reading, 5)).toHaveLength(5)
    const env = { SOME_PROVIDER_API_KEY: KEY }
    expect(await showing(env)).toEqual([])
    await using daemon = new RunningSvc(['start'], { cwd: dir.path, env })
    await daemon.waitForOutput(/^Logs: /m)
    expect(await showing(env, reading)).toEqual([])
  })
})

describe('a secret in streamed output, completions and answers', () => {
  const CONFIGURED = 'of-the-configuration-1234'
  const BOTH = `my keys are ${KEY} and ${CONFIGURED}`

  it('is masked by svc logs, events, watch, run, nudge, edit and completion, with a daemon and without one', async () => {
    await using model = await modelServer({ script: () => text(BOTH) })
    await using dir = await project({
      '.svc/config.yaml': `server: { api_key: ${CONFIGURED} }\ndaemon: { heartbeat: 60 }\n`,
      'profiles/worker.yaml': 'name: worker\nrole: talks\n',
      'logs/svc.log': `${JSON.stringify({ level: 30, time: '2026-01-01T00:00:00.000Z', msg: BOTH })}\n${BOTH}\n`,
    })
    const env = {
      SOME_PROVIDER_API_KEY: KEY,
      SVC_TRUST_PROJECT: 'true',
      OPENAI_BASE_URL: model.url,
      OPENAI_API_KEY: 'k',
      OPENAI_MODEL: 'scripted',
    }
    const cwd = dir.path
    const { agent_id } = JSON.parse((await svc(['spawn', 'worker', '--json'], { cwd, env })).stdout)
    await svc(['pause', agent_id], { cwd, env })
    await svc(['goals', 'add', agent_id, BOTH], { cwd, env })
    await svc(['run', agent_id, BOTH], { cwd, env })
    const database = new Database(join(cwd, '.svc', 'svc.db'))
    database.exec(`UPDATE agents SET role = '${BOTH}'; UPDATE events SET data = json_set(data, '$.name', '${BOTH}')`)
    database.close()
    const outputs = async () => {
      const outputs: Record<string, string> = {}
      for (const words of [
        ['logs'],
        ['logs', '--json'],
        ['run', agent_id, 'Say your keys.'],
        ['run', agent_id, 'Say your keys.', '--json'],
        ['task', 'run', agent_id, 'Say your keys.'],
        ['nudge', agent_id, BOTH],
        ['goals', 'add', agent_id, BOTH, '--json'],
        ['edit', agent_id, '--role', BOTH, '--json'],
        ['__complete', 'kill', ''],
        ['__complete', 'goals', 'abandon', '--goal-id', ''],
        ['__complete', 'task', 'cancel', ''],
      ]) {
        const { stdout, stderr } = await svc(words, { cwd, env })
        outputs[words.join(' ')] = stdout + stderr
      }
      for (const [words, begun] of [
        [['events', '--last', '50'], /spawned from/],
        [['events', '--last', '50', '--json'], /agent_spawned/],
        [['watch'], /worker/],
        [['watch', '--json'], /worker/],
        [['logs', '--follow'], /my keys/],
      ] as const) {
        await using following = new RunningSvc(words, { cwd, env })
        await following.waitForOutput(begun)
        await following.end('SIGINT')
        outputs[words.join(' ')] = following.stdout + following.stderr
      }
      const raw = Object.entries(outputs).filter(([, said]) => said.includes(KEY) || said.includes(CONFIGURED))
      return { outputs, raw: raw.map(([words]) => words) }
    }
    const alone = await outputs()
    expect(alone.raw).toEqual([])
    for (const words of ['logs', '__complete kill ', `run ${agent_id} Say your keys.`])
      expect(alone.outputs[words], words).toContain('***')
    await using daemon = new RunningSvc(['start'], { cwd, env })
    await daemon.waitForOutput(/^Logs: /m)
    expect((await outputs()).raw).toEqual([])
  }, 120_000)
})
