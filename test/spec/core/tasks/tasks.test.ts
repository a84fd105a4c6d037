import { realpath, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { describe, expect, it } from 'vitest'
import type { AgentDetail } from '#core/agents/contract'
import environment from '#core/environment/index'
import skills from '#core/skills/index'
import { definePlugin, type SvcError, z } from '#kernel'
import runs from '#observability/runs/index'
import questions from '#safety/questions/index'
import { tool } from '#tools/toolkits/contract'
import file from '#tools/toolkits/file/index'
import shell from '#tools/toolkits/shell/index'
import { writeDirectly } from '../../../support/direct-access.ts'
import { fault, modelServer, tempDir, text, together, toolCall, until } from '../../../support/index.ts'
import { detail, spawn } from '../models/model-host.ts'
import { rows, run, taskOf, testHostWithTasks } from './tasks-host.ts'

/** Returns a toolkit of this name with one tool, and records its runs. */
function kit(name: string, group = name) {
  const ran: unknown[] = []
  const plugin = definePlugin({
    name: `kit-${name}`,
    setup(svc) {
      svc.toolkit({
        name,
        group,
        instructions: `The kit ${name} is there.`,
        tools: [
          tool({
            name: `${name}_tool`,
            description: 'Counts.',
            parameters: z.object({ n: z.number().optional() }),
            execute: args => ran.push(args) && `${name} ran`,
          }),
        ],
      })
    },
  })
  return { plugin, ran }
}

const errorOf = async (asked: Promise<unknown>) => {
  const error = (await asked.then(
    () => undefined,
    thrown => thrown,
  )) as SvcError | undefined
  return { code: error?.code, status: error?.status }
}

describe('a one-shot task', () => {
  it('returns its answer with the documented fields', async () => {
    await using home = await testHostWithTasks(() => text('It is four.'))
    const id = await spawn(home)
    const response = await run(home, id, 'What is two and two?')
    expect(response).toEqual({
      task_id: expect.stringMatching(/^task-[0-9a-f]{12}$/),
      status: 'completed',
      output: 'It is four.',
      steps_taken: 1,
      tool_calls_made: 0,
      session_id: expect.stringMatching(/^sess-[0-9a-f]{12}$/),
      approval_ids: [],
      question_ids: [],
      cost_usd: 0,
      tokens: expect.any(Number),
      parsed: null,
      error: null,
    })
    const [bill] = home.server.bill
    expect(response.tokens).toBe(bill!.input_tokens + bill!.output_tokens)
    expect(await rows(home, 'SELECT kind, agent_id, goal_id, input_tokens, output_tokens FROM spend')).toEqual([
      {
        kind: 'task',
        agent_id: id,
        goal_id: null,
        input_tokens: bill!.input_tokens,
        output_tokens: bill!.output_tokens,
      },
    ])
    expect(await taskOf(home, response.task_id)).toMatchObject({
      ...response,
      agent_id: id,
      instruction: 'What is two and two?',
      max_steps: 25,
      ended_at: expect.any(String),
    })
  })

  it("uses the role and the settings of its agent, and leaves the agent's own work alone", async () => {
    await using home = await testHostWithTasks(() => text('Done.'), {
      files: {
        'profiles/worker.yaml': 'name: worker\nrole: counts sheep\ntemperature: 0.7\nmax_tokens: 321\nmax_steps: 2\n',
      },
    })
    const id = await spawn(home)
    await run(home, id, 'Count.')
    const { body, prompt } = home.server.requests[0]!
    expect(body).toMatchObject({ temperature: 0.7 })
    expect(body.max_tokens ?? body.max_completion_tokens).toBe(321)
    expect(prompt).toContain('Role: counts sheep')
    expect(await detail(home, id)).toMatchObject({ status: 'idle', goal: null, cycle_count: 0 })
  })

  it('has the tools of memory and comms, and of world with an economy; a group means all of its toolkits', async () => {
    const kits = [...['memory', 'comms', 'world'].map(name => kit(name)), kit('mcp_books', 'mcp')]
    const economy = definePlugin({
      name: 'economy',
      setup: svc => void svc.section('economy', z.object({ enabled: z.boolean().default(false) })),
    })
    const toolsOffered = async (config: Record<string, unknown>) => {
      await using home = await testHostWithTasks(() => text('Done.'), {
        builtins: [...kits.map(({ plugin }) => plugin), economy],
        config,
      })
      await run(home, await spawn(home), 'Do it.')
      const { body, prompt } = home.server.requests[0]!
      const names = (body.tools ?? []).map(each => each.function.name)
      expect(names.map(name => prompt.includes(`The kit ${name.replace('_tool', '')} is there.`))).not.toContain(false)
      return names
    }
    expect(await toolsOffered({})).toEqual(['memory_tool', 'comms_tool'])
    expect(await toolsOffered({ economy: { enabled: true } })).toEqual(['memory_tool', 'comms_tool', 'world_tool'])
    expect(await toolsOffered({ tasks: { toolkits: ['comms', 'nowhere'] } })).toEqual(['comms_tool'])
    expect(await toolsOffered({ tasks: { toolkits: [] } })).toEqual([])
    expect(await toolsOffered({ tasks: { toolkits: ['mcp', 'comms'] } })).toEqual(['mcp_books_tool', 'comms_tool'])
  })

  it('has the toolkits that it was given, as far as the profile has them', async () => {
    await using home = await testHostWithTasks(() => text('Done.'), {
      builtins: ['memory', 'work'].map(name => kit(name).plugin),
      files: { 'profiles/limited.yaml': 'name: limited\nrole: r\ntoolkits: [work, goals, file]\n' },
    })
    const id = await spawn(home, 'limited')
    const offered = async (toolkits?: string[]) => {
      await run(home, id, 'Go.', toolkits ? { toolkits } : {})
      return home.server.requests.at(-1)!.body.tools?.map(each => each.function.name) ?? []
    }
    expect(await offered()).toEqual([])
    expect(await offered(['memory,work'])).toEqual(['work_tool'])
    const all = await offered(['profile'])
    expect(all).toEqual(expect.arrayContaining(['work_tool', 'file_read']))
    expect(all).not.toEqual(expect.arrayContaining(['memory_tool']))
    // Those that need a goal.
    expect(all.filter(name => ['update_plan', 'add_subgoals', 'finish_goal'].includes(name))).toEqual([])
    const tasks = (await home.kernel.invoke('tasks.list', { id })) as { toolkits: string[] | null }[]
    expect(tasks.map(({ toolkits }) => toolkits)).toEqual(
      expect.arrayContaining([null, ['memory', 'work'], ['profile']]),
    )
    await expect(run(home, id, 'Go.', { toolkits: ['profile', 'wrok'] })).rejects.toMatchObject({
      status: 422,
      message: expect.stringMatching(/names the toolkit "wrok", .*did you mean "work"/),
    })
  })

  it('ends with a text that says which tools are missing', async () => {
    await using home = await testHostWithTasks(() => undefined)
    const said = 'I cannot do this here: I have only tools for memory. Please give it to me as a goal.'
    home.server.enqueue(text(said))
    expect(await run(home, await spawn(home), 'Fix it.')).toMatchObject({ status: 'completed', output: said })
  })

  it('may ask in its answer, in the same words in each task of a session', async () => {
    await using home = await testHostWithTasks(() => text('Which city?'))
    const id = await spawn(home)
    for (const instruction of ['How is the weather?', 'In Bern.'])
      await run(home, id, instruction, { session_key: 'k' })
    const prompts = home.server.requests.map(({ body }) => body.messages[0]?.content)
    expect(prompts[0]).toContain('goes on only if the person writes again')
    expect(prompts[0]).toContain('something that only the person knows, ask for it in your answer.')
    expect(prompts[1]).toBe(prompts[0])
  })

  it('reads of skills, files and programs only what its tools can use', async () => {
    await using folder = await tempDir({ 'repo/src/a.ts': '' })
    const workspace = join(await realpath(folder.path), 'repo')
    const promptWith = async (toolkits: string[]) => {
      await using home = await testHostWithTasks(() => text('Done.'), {
        builtins: [environment, file, questions, shell, skills],
        files: {
          'profiles/worker.yaml': 'name: worker\nrole: r\nskills: [notes]\n',
          'skills/notes/SKILL.md': '---\nname: notes\ndescription: How to write notes.\n---\nOne line each.\n',
        },
        config: { tasks: { toolkits } },
      })
      const { agent_id } = (await home.kernel.invoke('agents.spawn', { preset: 'worker', workspace })) as AgentDetail
      await run(home, agent_id, 'Do it.', { session_key: 'k' })
      await writeFile(join(workspace, `${toolkits.length}.ts`), '')
      await home.clock.advance(10)
      await run(home, agent_id, 'Go on.', { session_key: 'k' })
      const [first, second] = home.server.requests.map(({ body }) => body.messages.map(each => String(each.content)))
      // The names of new files do not take the conversation out of the provider's prompt cache.
      expect(second![0]).toBe(first![0])
      expect(second![1]).toMatch(/hold on\.\n\nDo it\.$/)
      return first!.join('\n')
    }
    const none = await promptWith([])
    expect(none).toContain('You have no tools here. Leave out the parts of your instructions that need others')
    expect(none).not.toMatch(/read_skill|Workspace:|Git|Programs:|src\/a\.ts/)
    const all = await promptWith(['file', 'shell', 'skills'])
    expect(all).toContain('You have only the tools listed here, and those that find_tools finds.')
    expect(all).toMatch(/- notes: How to write notes\.[\s\S]*- Programs: [\s\S]*Do it\.[\s\S]*src\/a\.ts/)
  })

  it('asks by its tool for questions where it has that, and otherwise in its answer', async () => {
    const systemWith = async (toolkits: string[], more: object = {}) => {
      await using home = await testHostWithTasks(() => text('Done.'), {
        builtins: [questions],
        config: { tasks: { toolkits } },
      })
      await run(home, await spawn(home), 'Do it.', more)
      return String(home.server.requests[0]!.body.messages[0]!.content)
    }
    expect(await systemWith([])).toContain('ask for it in your answer.')
    // A person reads the question in the answer, and need not answer elsewhere.
    expect(await systemWith([], { toolkits: ['profile'] })).toContain('ask for it in your answer.')
    const asks = await systemWith(['questions'])
    expect(asks).toContain('ask for it with ask_operator.')
    expect(asks).not.toContain('in your answer.')
    const response_schema = { type: 'object', properties: { city: { type: 'string' } } }
    const structured = await systemWith([], { response_schema })
    expect(structured).toContain('Do not invent values')
    expect(structured).not.toMatch(/your tools|in your answer\./)
    expect(await systemWith(['questions'], { response_schema })).toContain('If you need your tools, use them first.')
  })

  it('reads before its last step that no other follows', async () => {
    const memory = kit('memory')
    await using home = await testHostWithTasks(() => toolCall('memory_tool', { n: 1 }), { builtins: [memory.plugin] })
    expect(await run(home, await spawn(home), 'Count.', { max_steps: 2 })).toMatchObject({ status: 'max_steps' })
    const last = home.server.requests.map(({ body }) => String(body.messages.at(-1)!.content))
    expect(last.map(content => content.includes('This is your last step'))).toEqual([false, true])
  })

  it('continues without its client with wait: false', async () => {
    let answer = () => {}
    const lasting = new Promise<void>(resolve => {
      answer = resolve
    })
    await using home = await testHostWithTasks(() => lasting.then(() => text('Done.')))
    const id = await spawn(home)
    const client = new AbortController()
    const state = await run(home, id, 'Take long.', { wait: false }, { signal: client.signal })
    expect(state).toMatchObject({ status: 'running', task_id: expect.any(String) })
    client.abort()
    answer()
    await until(async () => (await taskOf(home, state.task_id)).status !== 'running')
    expect(await taskOf(home, state.task_id)).toMatchObject({ status: 'completed', output: 'Done.' })
  })

  it('gets no tool that the profile withholds from its agents', async () => {
    const kits = [kit('memory'), kit('comms')]
    await using home = await testHostWithTasks(() => text('Done.'), {
      builtins: kits.map(({ plugin }) => plugin),
      files: { 'profiles/worker.yaml': 'name: worker\nrole: r\ntoolkits: [comms, file]\n' },
    })
    await run(home, await spawn(home), 'Do it.')
    expect(home.server.requests[0]?.body.tools?.map(each => each.function.name)).toEqual(['comms_tool'])
  })

  it('uses its tools, and records each call with its outcome in the journal', async () => {
    const memory = kit('memory')
    await using home = await testHostWithTasks(() => text('I counted.'), { builtins: [memory.plugin] })
    const id = await spawn(home)
    home.server.enqueue(together(toolCall('memory_tool', { n: 1 }), toolCall('memory_tool', { n: 'no' })))
    const response = await run(home, id, 'Count to one.')
    expect(response).toMatchObject({ status: 'completed', output: 'I counted.', steps_taken: 2, tool_calls_made: 2 })
    expect(memory.ran).toEqual([{ n: 1 }])
    const journal = 'SELECT task_id, goal_id, state, is_error FROM tool_calls ORDER BY call_id'
    expect(await rows(home, journal)).toEqual([
      { task_id: response.task_id, goal_id: null, state: 'done', is_error: 0 },
      { task_id: response.task_id, goal_id: null, state: 'done', is_error: 1 },
    ])
  })

  it.each([
    ['declines', "I'm sorry, I can't help with that.", "I'm sorry, I can't help with that."],
    ['says nothing', '', ''],
    ['says nothing but blanks', ' \n ', ''],
    ['says nothing but invisible characters', '\u200b\u200b', '\u200b\u200b'],
  ])('is not completed by a model that %s, also when asked again', async (_, says, output) => {
    await using home = await testHostWithTasks(() => text(says))
    const response = await run(home, await spawn(home), 'Do it.')
    expect(response).toMatchObject({ status: 'failed', output, steps_taken: 2, error: { code: 'task_refused' } })
    expect(home.server.requests).toHaveLength(2)
  })

  it('is completed by a long answer without Latin letters in bounded time', async () => {
    await using home = await testHostWithTasks(() => text('你好，'.repeat(30_000)))
    const delay = monitorEventLoopDelay({ resolution: 5 })
    const id = await spawn(home)
    delay.enable()
    expect(await run(home, id, 'Say hello.')).toMatchObject({ status: 'completed' })
    // Before, it took half a minute.
    expect(delay.max / 1e6).toBeLessThan(5_000)
  })

  it.each(["I'm sorry to hear that. Which file do you mean?", "I can't find notes.md; the folder has only todo.md."])(
    'takes an apology or a question for an answer: %s',
    async says => {
      await using home = await testHostWithTasks(() => text(says))
      const response = await run(home, await spawn(home), 'Mend my file.')
      expect(response).toMatchObject({ status: 'completed', output: says, steps_taken: 1 })
    },
  )

  it('accepts the answer that a model gives when it is asked again', async () => {
    await using home = await testHostWithTasks(() => text('It is done.'))
    home.server.enqueue(text(''))
    expect(await run(home, await spawn(home), 'Do it.')).toMatchObject({ status: 'completed', output: 'It is done.' })
  })

  it.each([
    [
      'a call that is cut off',
      (n: number) => ({ ...toolCall('memory_tool', `{"n": ${n}`), finish_reason: 'length' as const }),
      3,
    ],
    ['calls of unknown tools', (n: number) => toolCall(`tool_${n}`), 5],
  ])('fails with the cause after repeated answers with %s', async (_, answer, steps_taken) => {
    let n = 0
    await using home = await testHostWithTasks(() => answer(++n))
    expect(await run(home, await spawn(home), 'Count.', { max_steps: 9 })).toMatchObject({
      status: 'failed',
      steps_taken,
      error: { code: 'task_repeating', detail: expect.stringMatching(/max_tokens|there is no tool/) },
    })
  })

  it('says so when thoughts use up the tokens of its answer', async () => {
    await using home = await testHostWithTasks(() => text('', { reasoning: 'Hm, ', finish_reason: 'length' }))
    const { error } = await run(home, await spawn(home), 'Tell.', { max_tokens: 500 })
    expect(error?.detail).toBe(
      'The answer was cut at max_tokens (500), while the model was still thinking; raise max_tokens for the task or in the profile, or set reasoning_effort to none.',
    )
  })

  it('fails with the partial output when its answer is cut off at max_tokens', async () => {
    await using home = await testHostWithTasks(() => text('Once upon a', { finish_reason: 'length' }))
    expect(await run(home, await spawn(home), 'Tell.')).toMatchObject({
      status: 'failed',
      output: 'Once upon a',
      error: { code: 'answer_cut', detail: expect.stringContaining('4096') },
    })
  })

  it('ends after max_steps answers, with the last text as its output', async () => {
    const memory = kit('memory')
    let n = 0
    await using home = await testHostWithTasks(() => together(text(`Step ${++n}.`), toolCall('memory_tool', { n })), {
      builtins: [memory.plugin],
    })
    expect(await run(home, await spawn(home), 'Count.', { max_steps: 3 })).toMatchObject({
      status: 'max_steps',
      output: 'Step 3.',
      steps_taken: 3,
      tool_calls_made: 3,
      error: null,
    })
  })

  it('fails when its model repeats the same call', async () => {
    const memory = kit('memory')
    await using home = await testHostWithTasks(() => toolCall('memory_tool', { n: 1 }), { builtins: [memory.plugin] })
    expect(await run(home, await spawn(home), 'Count.')).toMatchObject({
      status: 'failed',
      steps_taken: 3,
      error: { code: 'task_repeating' },
    })
  })

  it('ends as max_steps when the third identical call is also its last step', async () => {
    const memory = kit('memory')
    await using home = await testHostWithTasks(() => toolCall('memory_tool', { n: 1 }), { builtins: [memory.plugin] })
    expect(await run(home, await spawn(home), 'Count.', { max_steps: 3 })).toMatchObject({
      status: 'max_steps',
      steps_taken: 3,
      error: null,
    })
  })

  it('fails with the reason when its model fails, and its cost is counted', async () => {
    await using home = await testHostWithTasks(() => fault('html200'), { env: { SVC_MAX_RETRIES: '0' } })
    const id = await spawn(home)
    const response = await run(home, id, 'Do it.')
    expect(response).toMatchObject({
      status: 'failed',
      output: '',
      steps_taken: 0,
      error: { code: 'model_error', status: 502, request_id: expect.stringMatching(/^req-/) },
    })
    expect(response.error?.detail).not.toMatch(/\n| at /)
    const [row] = await rows<{ spent: number }>(home, 'SELECT sum(input_tokens + output_tokens) AS spent FROM spend')
    expect(row?.spent).toBe(response.tokens)
    expect(await detail(home, id)).toMatchObject({ error: null, status: 'idle' })
  })

  it('fails at the max_cost_usd of the profile when it is not done by then', async () => {
    const memory = kit('memory')
    const server = await modelServer({
      script: () => toolCall('memory_tool', { n: server.requests.length }),
    })
    const far = 'https://models.example/v1'
    await using home = await testHostWithTasks(() => undefined, {
      builtins: [memory.plugin],
      env: { OPENAI_BASE_URL: far },
      files: {
        'profiles/worker.yaml': 'name: worker\nrole: r\nmax_cost_usd: 0.002\n',
        'models.yaml': 'prices:\n  openai:scripted: { input: 0, output: 100 }\n',
      },
      ports: { fetch: (input, init) => fetch(String(input).replace(far, server.url), init) },
    })
    const response = await run(home, await spawn(home), 'Count for ever.')
    await server.close()
    expect(response).toMatchObject({ status: 'failed', error: { code: 'task_cost_limit' } })
    expect(response.cost_usd).toBeGreaterThanOrEqual(0.002)
    expect(response.steps_taken).toBeLessThan(10)
  })

  it('is done by a paused agent too, because the operator asks for it', async () => {
    await using home = await testHostWithTasks(() => text('Done.'))
    const id = await spawn(home)
    await home.kernel.invoke('agents.pause', { id })
    expect(await run(home, id, 'Do it.')).toMatchObject({ status: 'completed' })
    expect(await detail(home, id)).toMatchObject({ status: 'paused' })
  })

  it('is refused for a dead or unknown agent', async () => {
    await using home = await testHostWithTasks(() => text('Done.'))
    const id = await spawn(home)
    expect(await errorOf(run(home, 'nobody', 'Do it.'))).toEqual({ code: 'agent_not_found', status: 404 })
    await markDead(home.root, id)
    expect(await errorOf(run(home, id, 'Do it.'))).toEqual({ code: 'agent_dead', status: 409 })
    expect(home.server.requests).toEqual([])
  })

  it.each([
    ['no instruction', { instruction: undefined }],
    ['an empty one', { instruction: '' }],
    ['a blank one', { instruction: ' \n\t ' }],
    ['one that is no text', { instruction: 7 }],
    ['one of 100,001 characters', { instruction: 'x'.repeat(100_001) }],
    ['max_steps 0', { max_steps: 0 }],
    ['max_steps 1001', { max_steps: 1001 }],
    ['max_steps 1.5', { max_steps: 1.5 }],
    ['an empty session_key', { session_key: '' }],
    ['an unknown field', { model: 'gpt' }],
  ])('is rejected with %s before anything is written', async (_, more) => {
    await using home = await testHostWithTasks(() => text('Done.'))
    const id = await spawn(home)
    expect(await errorOf(run(home, id, 'Do it.', more))).toEqual({ code: 'invalid_input', status: 422 })
    expect(await rows(home, 'SELECT 1 FROM task_runs UNION ALL SELECT 1 FROM sessions')).toEqual([])
  })

  it('accepts an instruction of 100,000 characters of any kind', async () => {
    await using home = await testHostWithTasks(() => text('Read.'))
    const instruction = '🐑'.repeat(100_000)
    expect(await run(home, await spawn(home), instruction)).toMatchObject({ status: 'completed' })
    expect(home.server.requests[0]?.prompt).toContain(instruction)
  })

  it('ends when its agent is deleted, and its records are deleted too, except for its run', async () => {
    await using home = await testHostWithTasks(() => fault('hang'), { builtins: [runs] })
    const id = await spawn(home)
    const asked = errorOf(run(home, id, 'Do it.'))
    const { ended } = await home.server.request(1)
    await home.kernel.invoke('agents.delete', { id })
    expect(await asked).toEqual({ code: 'task_not_found', status: 404 })
    expect(await ended).toBe('dropped')
    for (const table of ['task_runs', 'task_messages', 'sessions', 'tool_calls'])
      expect(await rows(home, `SELECT 1 FROM ${table}`)).toEqual([])
    // The log of the run is closed after the answer, because the answer does not depend on it.
    const exits = () => rows<{ exit: string | null }>(home, "SELECT exit FROM runs WHERE kind = 'task'")
    await until(async () => (await exits()).every(({ exit }) => exit))
    expect(await exits()).toEqual([{ exit: 'interrupted' }])
  })

  it('is listed with earlier ones of its user, newest first', async () => {
    await using home = await testHostWithTasks(() => text('Done.'))
    const id = await spawn(home)
    for (const instruction of ['one', 'two', 'three']) {
      await run(home, id, instruction)
      await home.clock.advance(10)
    }
    const { session_id } = await run(home, id, 'four', {}, { tenant: 'bob' })
    const list = (page: object, tenant = 'default') =>
      home.kernel.invoke('tasks.list', { id, ...page }, { tenant }) as Promise<{ instruction: string }[]>
    const names = async (page: object, tenant?: string) => (await list(page, tenant)).map(each => each.instruction)
    expect(await names({})).toEqual(['three', 'two', 'one'])
    expect(await names({ limit: 1, offset: 1 })).toEqual(['two'])
    expect(await names({}, 'bob')).toEqual(['four'])
    expect(await names({ session_id }, 'bob')).toEqual(['four'])
    expect(await names({ session_id })).toEqual([])
  })

  it('of another user appears not to exist', async () => {
    await using home = await testHostWithTasks(() => text('Done.'))
    const { task_id } = await run(home, await spawn(home), 'Do it.', {}, { tenant: 'alice' })
    const call = { tenant: 'bob' }
    for (const name of ['tasks.get', 'tasks.resume'])
      expect(await errorOf(home.kernel.invoke(name, { task_id }, call))).toEqual({
        code: 'task_not_found',
        status: 404,
      })
    expect(await taskOf(home, task_id, { tenant: 'alice' })).toMatchObject({ status: 'completed' })
  })

  it('emits events at its start and its end', async () => {
    await using home = await testHostWithTasks(() => text('Done.'))
    const received: unknown[] = []
    home.kernel.hooks.on('task_started', event => void received.push(['task_started', event]))
    home.kernel.hooks.on('task_ended', event => void received.push(['task_ended', event]))
    const id = await spawn(home)
    const { task_id, session_id } = await run(home, id, 'Do it.')
    await until(() => received.length === 2)
    const about = { agent_id: id, task_id, session_id }
    expect(received).toEqual([
      ['task_started', about],
      ['task_ended', { ...about, status: 'completed' }],
    ])
  })
})

/** Marks an agent as dead, like an expired sub-agent or one with too many fatal errors. */
const markDead = (root: string, id: string) =>
  writeDirectly(root, 'UPDATE agents SET died_at = 1 WHERE agent_id = ?', id)
