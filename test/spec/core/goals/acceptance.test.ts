import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Goal } from '#core/goals/contract'
import { isAlive } from '#lib/is-alive'
import approvals from '#safety/approvals/index'
import git from '#tools/toolkits/git/index'
import shell from '#tools/toolkits/shell/index'
import { type TestHost, type TestHostOptions, text, toolCall, until, waitUntilIdle } from '../../../support/index.ts'
import { finish, type Step } from '../../safety/approvals-host.ts'
import { ask, asking, shown } from '../../safety/questions-host.ts'
import { asksForGoal, rows, spawn } from '../models/model-host.ts'

const REPORT = toolCall('file_write', { path: 'report.md', content: 'All is well.' })

const eventsOf = async (home: TestHost, type: string) =>
  (await rows<{ data: string }>(home, 'SELECT data FROM events WHERE type = ? ORDER BY seq', [type])).map(
    ({ data }) => JSON.parse(data) as unknown,
  )

/** Starts an agent with one operator goal that has these acceptance criteria. */
async function accepting(
  list: Step[],
  acceptance: readonly unknown[],
  options: TestHostOptions = {},
  objective = 'Write the report of today',
) {
  const home = await asking(list, { ...options, builtins: [shell, git] })
  const id = await spawn(home)
  const given = await home.request(`/agents/${id}/goals`, { objective, acceptance })
  const goal_id: string = given.json.goal_id
  const goal = async () => (await home.request(`/goals/${goal_id}`)).json as Goal
  const waitForEnd = async () => {
    await until(async () => (await goal()).status !== 'active')
    return goal()
  }
  home.kernel.heartbeat.start()
  return Object.assign(home, { id, given, goal_id, goal, waitForEnd })
}

describe('acceptance criteria', () => {
  it('keep a goal open, with the reason, until the command exits with 0 and the file exists', async () => {
    await using home = await accepting(
      [finish(), REPORT, finish('written')],
      [{ file: 'report.md' }, { command: 'grep -q well report.md' }],
    )
    expect(home.given.json.acceptance).toEqual([
      { file: 'report.md', met: null, problem: null },
      { command: 'grep -q well report.md', met: null, problem: null },
    ])
    const goal = await home.waitForEnd()
    expect(goal).toMatchObject({ status: 'completed', refusals: 1, acceptance: [{ met: true }, { met: true }] })
    expect(home.server.requests[0]?.prompt).toContain('- the command `grep -q well report.md` exits with 0')
    expect(shown(home)[0]).toMatch(/the goal is not finished: The result is not accepted yet \(1 of 5 tries\)/)
    expect(shown(home)[0]).toContain('The file "report.md" does not exist')
    expect(shown(home)[0]).toContain('[exit code 2]')
  })

  it('are also named to a model that ends the goal in prose, in a message of its own', async () => {
    await using home = await accepting(
      [text('It is done.'), text('Yes, it is.'), REPORT, finish()],
      [{ file: 'report.md' }],
    )
    await home.waitForEnd()
    const messages = home.server.requests[2]!.body.messages
    expect(messages.at(-1)).toMatchObject({
      role: 'user',
      content: expect.stringMatching(
        /^The result is not accepted yet \(1 of 5 tries\)\. The file "report\.md" does not exist/,
      ),
    })
  })

  it('end a goal as not accepted after the maximum number of tries', async () => {
    await using home = await accepting([finish('it is done')], [{ file: 'report.md' }], {
      config: { daemon: { max_refusals: 3 } },
    })
    const goal = await home.waitForEnd()
    expect(goal).toMatchObject({ status: 'abandoned', refusals: 3, acceptance: [{ met: false }] })
    expect(goal.result).toMatch(/^Not accepted after 3 tries.*report\.md.*\nThe agent said: it is done/)
    expect(await eventsOf(home, 'goal_not_accepted')).toMatchObject([{ refusals: 1 }, { refusals: 2 }, { refusals: 3 }])
  })

  it('let a model judge a rubric and show it the evidence files', async () => {
    const verdicts = ['{"accepted": false, "reason": "It names no author."}', '{"accepted": true, "reason": ""}']
    const judged: string[] = []
    await using home = await accepting(
      [
        REPORT,
        toolCall('finish_goal', { summary: 'written', evidence: ['report.md'] }),
        ({ prompt }) => {
          judged.push(prompt)
          return text(verdicts.shift()!)
        },
        finish('with an author'),
        () => text(verdicts.shift()!),
      ],
      [{ rubric: 'The report names its author' }],
    )
    expect(await home.waitForEnd()).toMatchObject({ status: 'completed', refusals: 1 })
    expect(judged[0]).toContain('Rubric: The report names its author')
    expect(judged[0]).toContain('All is well.')
    const results = home.server.requests.flatMap(({ body }) => body.messages.map(({ content }) => String(content)))
    expect(results.some(each => each.includes('The reviewer does not accept it: It names no author.'))).toBe(true)
  })

  it('show the model that judges a rubric the results of commands that the evidence names', async () => {
    let judged = ''
    await using home = await accepting(
      [
        REPORT,
        toolCall('shell_exec', { command: 'cat report.md' }),
        toolCall('finish_goal', { summary: 'written', evidence: ['`cat report.md`'] }),
        ({ prompt }) => {
          judged = prompt
          return text('{"accepted": true, "reason": ""}')
        },
      ],
      [{ rubric: 'The report says how all is' }],
    )
    expect(await home.waitForEnd()).toMatchObject({ status: 'completed' })
    expect(judged).toMatch(/stands the result of "cat report\.md" when the agent last ran it: .*\n<<<\nAll is well\./)
  })

  it('wait for the operator without model calls, and pass on the reason of a rejection', async () => {
    await using home = await accepting([finish('first'), finish('second')], [{ operator: true }])
    const first = await home.asked()
    expect(first.question).toContain('Result according to the agent:\nfirst')
    const before = home.server.requests.length
    await home.clock.advance(60_000)
    expect(home.server.requests).toHaveLength(before)
    await home.answer(first.question_id, 'Add the date')
    const second = await home.asked()
    expect(second.question_id).not.toBe(first.question_id)
    await home.answer(second.question_id, 'accept')
    expect(await home.waitForEnd()).toMatchObject({ status: 'completed', refusals: 1, result: 'second' })
    expect(shown(home)[0]).toContain('The operator does not accept it: Add the date')
    const { json } = await home.request(`/goals/${home.goal_id}/transcript`)
    expect(json).toContainEqual(expect.objectContaining({ name: 'finish_goal', from_operator: true }))
  })

  it('are not judged again when the operator answers', async () => {
    let judged = 0
    const judge = () => {
      judged++
      return text('{"accepted": true, "reason": ""}')
    }
    await using home = await accepting(
      [finish('first'), judge, finish('second'), judge],
      [{ rubric: 'It is dated' }, { operator: true }],
    )
    await home.answer((await home.asked()).question_id, 'Add the date')
    await home.answer((await home.asked()).question_id, 'accept')
    expect(await home.waitForEnd()).toMatchObject({ status: 'completed', refusals: 1, result: 'second' })
    expect(judged).toBe(2)
  })

  const tools = { shell_allow_dev_commands: true, sandbox: 'off' }
  /** A command that writes its process id and ends when the file `go` exists. */
  const WAITS =
    'node -e \'const fs = require("fs"); fs.writeFileSync("pid", String(process.pid)); setInterval(() => fs.existsSync("go") && process.exit(), 20)\''
  /** Starts an agent whose goal is accepted by `WAITS`, and waits until its cycle has ended without a result. */
  async function waitingForCommand() {
    const home = await accepting([finish()], [{ command: WAITS }], {
      config: { tools },
      env: { PATH: process.env.PATH! },
    })
    const folder = (await home.request(`/agents/${home.id}`)).json.workspace as string
    const pid = async () => Number(await readFile(join(folder, 'pid'), 'utf8').catch(() => '0'))
    await until(async () => (await pid()) > 0)
    await home.clock.advance(31_000)
    await waitUntilIdle(home)
    const go = () => writeFile(join(folder, 'go'), '')
    return Object.assign(home, { pid, go })
  }

  it('may have a command that runs longer than a cycle', async () => {
    await using home = await waitingForCommand()
    const pid = await home.pid()
    await home.clock.advance(200_000)
    expect(await home.request(`/agents/${home.id}/why`)).toMatchObject({
      json: { reason: expect.stringContaining('acceptance') },
    })
    expect(isAlive(pid)).toBe(true)
    await home.go()
    await until(async () => {
      await home.clock.advance(1_000)
      return (await home.goal()).status !== 'active'
    })
    expect(await home.goal()).toMatchObject({ status: 'completed', refusals: 0, acceptance: [{ met: true }] })
    expect(await home.pid()).toBe(pid)
    expect(home.server.requests.filter(request => !asksForGoal(request))).toHaveLength(1)
  }, 30_000)

  it('have their command stopped while the agent is paused, and run again afterwards', async () => {
    await using home = await waitingForCommand()
    const first = await home.pid()
    await home.kernel.invoke('agents.pause', { id: home.id })
    await home.clock.advance(3_000)
    await until(() => !isAlive(first))
    await home.kernel.invoke('agents.resume', { id: home.id })
    await until(async () => {
      await home.clock.advance(1_000)
      return (await home.pid()) !== first
    })
    await home.go()
    await until(async () => {
      await home.clock.advance(1_000)
      return (await home.goal()).status === 'completed'
    })
  }, 30_000)

  it('refuse nothing by a command that was stopped at its time limit, and name the setting', async () => {
    await using home = await accepting([finish('it is done'), ask('What now?')], [{ command: WAITS }], {
      clock: 'system',
      env: { PATH: process.env.PATH! },
      config: { tools, daemon: { acceptance_timeout: 1 } },
    })
    await until(async () => home.server.requests.length === 2)
    expect(shown(home)[0]).toMatch(
      /could not be checked\. svc stopped the command `node .*` at its time limit of 1 s.*\(daemon\.acceptance_timeout\)/,
    )
    expect(await home.goal()).toMatchObject({
      status: 'active',
      refusals: 0,
      acceptance: [{ met: null, problem: expect.stringContaining('time limit') }],
    })
  }, 30_000)

  it('may be replaced while the goal is pursued: the agent is shown the new ones, and only they count', async () => {
    await using home = await accepting(
      [
        async () => {
          const acceptance = [{ file: 'draft.md' }]
          await home.kernel.invoke('goals.update', { goal_id: home.goal_id, priority: 7, acceptance })
          return REPORT
        },
        async () => {
          const acceptance = [{ file: 'report.md' }]
          await home.kernel.invoke('goals.update', { goal_id: home.goal_id, acceptance })
          return toolCall('list_dir', {})
        },
        finish('written'),
      ],
      [{ command: 'test -e never.md' }],
    )
    const goal = await home.waitForEnd()
    expect(goal).toMatchObject({ status: 'completed', priority: 7, refusals: 0, acceptance: [{ met: true }] })
    expect(home.server.requests[1]!.prompt).toContain(
      'were changed. It counts as reached when all of these hold:\n- the file draft.md',
    )
    expect(home.server.requests.at(-1)!.prompt).toContain(
      'The acceptance criteria of the goal "Write the report of today" were changed. It counts as reached when all of these hold:\n- the file report.md exists',
    )
    // What the goal cost is added up from its model calls.
    expect(goal.tokens).toBe(home.server.bill.reduce((sum, call) => sum + call.input_tokens + call.output_tokens, 0))
    await expect(home.kernel.invoke('goals.update', { goal_id: home.goal_id })).rejects.toMatchObject({
      code: 'nothing_to_change_in_goal',
    })
  })

  it('that were replaced while a claim was checked refuse the claim', async () => {
    await using home = await accepting(
      [REPORT, finish('written'), finish('written')],
      [{ command: 'touch started; while [ ! -e go ]; do sleep 0.1; done' }],
    )
    const workspace = join(home.root, '.svc/workspaces', home.id)
    await until(() =>
      readFile(join(workspace, 'started')).then(
        () => true,
        () => false,
      ),
    )
    await home.kernel.invoke('goals.update', { goal_id: home.goal_id, acceptance: [{ file: 'report.md' }] })
    await writeFile(join(workspace, 'go'), '')
    expect(await home.waitForEnd()).toMatchObject({ status: 'completed', refusals: 0 })
    expect(shown(home).join('\n')).toContain('The acceptance criteria were changed while they were checked.')
  })

  it('reject a command that can never run, and say what to change', async () => {
    await using home = await asking([finish()], { builtins: [shell], config: { tools: { sandbox: 'off' } } })
    const id = await spawn(home)
    const add = (command: string) =>
      home.request(`/agents/${id}/goals`, { objective: 'Write the report of today', acceptance: [{ command }] })
    expect(await add('npm test')).toMatchObject({
      status: 422,
      json: { detail: expect.stringContaining('tools.shell_allow_dev_commands') },
    })
    expect((await add('cat a | grep b')).json.detail).toContain('"|" is refused')
    expect((await home.request(`/agents/${id}/goals`)).json).toEqual([])
  })
})

it('reject a file outside the folders of the agent, and name the folders', async () => {
  await using home = await asking([finish()])
  const id = await spawn(home)
  const add = (file: string) =>
    home.request(`/agents/${id}/goals`, {
      objective: 'Write the report of today',
      acceptance: [{ operator: true }, { file }],
    })
  for (const file of ['../../etc/passwd', '/etc/passwd'])
    expect(await add(file)).toMatchObject({
      status: 422,
      json: {
        errors: [
          {
            path: 'acceptance.1.file',
            message: `"${file}" lies outside the folders of ${id}; name a file in its workspace, such as "report.md"`,
          },
        ],
      },
    })
  expect((await add('not/there/yet.md')).status).toBe(201)
  const { goal_id } = (await home.request(`/agents/${id}/goals`)).json[0]
  const changed = home.kernel.invoke('goals.update', { goal_id, acceptance: [{ file: '../other' }] })
  await expect(changed).rejects.toThrow('lies outside the folders')
})

describe('acceptance criteria set by an agent', () => {
  const plan = (done_when: string[]) =>
    toolCall('update_plan', { steps: [{ step: 'Write it', status: 'in_progress' }], done_when })

  it('apply to a goal that the agent chose itself', async () => {
    const terms = ['grep -q well report.md']
    await using home = await asking([plan(terms), finish('early'), REPORT, finish('written')], { builtins: [shell] })
    const id = await home.begin()
    const goals = async () => (await home.request(`/agents/${id}/goals`)).json as Goal[]
    await until(async () => (await goals()).some(({ status }) => status === 'completed'))
    const [goal] = await goals()
    expect(goal).toMatchObject({ result: 'written', refusals: 1, acceptance: [{ command: terms[0], met: true }] })
  })

  it.each([
    ['of which each needs an approval', '', { approval: { enabled: true } }, 'each of your commands needs an approval'],
    ['without a tool for them', 'toolkits: [file, goals]\n', {}, 'you have no tool shell_exec'],
  ])('run no commands %s', async (_, more, config, message) => {
    const files = { 'profiles/w.yaml': `name: w\nrole: writes\n${more}` }
    const builtins = [shell, approvals]
    await using home = await asking([plan(['touch made.txt']), finish('written')], { builtins, files, config })
    const id = await spawn(home, 'w')
    home.kernel.heartbeat.start()
    const goals = async () => (await home.request(`/agents/${id}/goals`)).json as Goal[]
    await until(async () => (await goals()).some(({ status }) => status === 'completed'))
    expect((await goals()).map(({ acceptance }) => acceptance)).toContainEqual([])
    expect(home.server.requests.some(({ prompt }) => prompt.includes(message))).toBe(true)
    expect(existsSync(join(home.root, '.svc/workspaces', id, 'made.txt'))).toBe(false)
  })

  it('are rejected for a goal of the operator', async () => {
    await using home = await accepting([plan(['true']), REPORT, finish()], [{ file: 'report.md' }])
    expect(await home.waitForEnd()).toMatchObject({
      status: 'completed',
      acceptance: [{ file: 'report.md' }],
      plan: [],
    })
    expect(home.server.requests.at(-1)!.prompt).toContain('leave done_when out')
  })
})

describe('evidence given by an agent', () => {
  it('is checked once: named files must exist, and named commands must have run for this goal', async () => {
    const claim = (evidence: string[]) => toolCall('finish_goal', { summary: 'done', evidence })
    await using home = await accepting(
      [
        claim(['report.md', '`grep -c well report.md`', 'msg-12', 'https://example.org/a.html']),
        REPORT,
        toolCall('shell_exec', { command: 'grep -c well report.md' }),
        claim(['report.md', '`grep -c well report.md`']),
      ],
      [],
    )
    expect(await home.waitForEnd()).toMatchObject({ status: 'completed' })
    expect(shown(home)[0]).toContain(
      'the file "report.md" does not exist in your workspace; `grep -c well report.md` was not run for this goal. Do what is missing',
    )
    await using stubborn = await accepting([claim(['none.md'])], [])
    expect(await stubborn.waitForEnd()).toMatchObject({ status: 'completed', result: 'done\n- none.md' })
  })

  it.each(['`grep -c well report.md`', 'grep -c well report.md'])(
    'is refused once when its command failed when it was last run: %s',
    async evidence => {
      const grep = toolCall('shell_exec', { command: 'grep -c well report.md' })
      const claim = toolCall('finish_goal', { summary: 'done', evidence: [evidence] })
      const prose = text('I wrote summary.md.')
      await using home = await accepting([grep, prose, claim, REPORT, claim], [])
      expect(await home.waitForEnd()).toMatchObject({ status: 'completed' })
      expect(shown(home).find(text => text.includes('cannot be confirmed'))).toContain(
        '`grep -c well report.md` failed when you last ran it (exit code 2). Do what is missing',
      )
    },
  )

  it('does not stand for a file that the goal names and that is nowhere, once', async () => {
    const claim = toolCall('finish_goal', { summary: 'done', evidence: ['msg-12'] })
    await using home = await accepting([claim, claim], [], {}, 'Write report.md')
    expect(await home.waitForEnd()).toMatchObject({ status: 'completed' })
    expect(shown(home).at(-1)).toContain('The file "report.md" does not exist in your workspace. Do what is missing')
  })

  it('may name a command of git that one of the git tools ran', async () => {
    const claim = toolCall('finish_goal', {
      summary: 'done',
      evidence: ['`git status --short`', '`git_init here`', '`git log`'],
    })
    await using home = await accepting([toolCall('git_init'), toolCall('git_status'), claim, finish()], [])
    expect(await home.waitForEnd()).toMatchObject({ status: 'completed', result: 'done' })
    expect(shown(home).at(-1)).toContain('cannot be confirmed: `git log` was not run for this goal.')
  })
})

it('evidence may name a file of another folder by its relative name, where only one folder has it', async () => {
  const claim = (...evidence: string[]) => toolCall('finish_goal', { summary: 'done', evidence })
  await using home = await asking([claim('one.md', 'two.md'), claim('one.md')], { builtins: [shell] })
  await home.write({ 'a/one.md': '1', 'a/two.md': '2', 'b/two.md': '2', 'work/x.md': 'x' })
  const folders = ['work', 'a', 'b'].map(name => ({ path: join(home.root, name), access: 'read-only' }))
  await home.kernel.invoke('agents.spawn', { preset: 'worker', workspace: folders[0]!.path, folders })
  home.kernel.heartbeat.start()
  await until(() => home.server.requests.length >= 3)
  expect(shown(home)[0]).toContain(
    'confirmed: the file "two.md" does not exist in your workspace (name files of other folders by their absolute path). Do',
  )
})

describe('finish_goal with reached: false', () => {
  it('abandons the goal with the reason, even when its acceptance criteria are not met', async () => {
    await using home = await accepting(
      [toolCall('finish_goal', { reached: false, summary: 'The numbers of today are not published.' })],
      [{ file: 'report.md' }],
    )
    const goal = await home.waitForEnd()
    expect(goal).toMatchObject({ status: 'abandoned', result: 'Declined: The numbers of today are not published.' })
    const reason = 'The numbers of today are not published.'
    expect(await eventsOf(home, 'goal_declined')).toMatchObject([{ goal_id: home.goal_id, reason }])
  })
})
