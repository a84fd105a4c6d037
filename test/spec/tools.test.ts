import { afterAll, describe, expect, it } from 'vitest'
import { ranked } from '#core/runtime/find-tools'
import { definePlugin, z } from '#kernel'
import { Toolkits, tool } from '#tools/toolkits/contract'
import { BUILTINS } from '../../builtins/index.ts'
import { project } from '../cli/project.ts'
import { type ModelServerRequest, svc, type TestHost, testHost, text, toolCall, until } from '../support/index.ts'
import { asksForGoal, spawn, testHostWithModel } from './model-host.ts'

interface ListedTools {
  agent_id: string | null
  budget_tokens: number
  offered_tokens: number
  all_tokens: number
  tools: { name: string; toolkit: string; owner: string; tokens: number; offered: boolean; danger: string | null }[]
}
const toolsOf = ({ kernel }: TestHost, id?: string) =>
  kernel.invoke('tools.list', id ? { id } : {}) as Promise<ListedTools>
const offeredIn = ({ tools }: ListedTools) => tools.filter(({ offered }) => offered).map(({ name }) => name)
/** What went over the wire with one request. */
const namesIn = ({ body }: ModelServerRequest) => (body.tools ?? []).map(each => each.function.name)
const specsIn = ({ body }: ModelServerRequest) => (body.tools ?? []).map(each => each.function)

/** A toolkit of so many tools that say of themselves what they do. */
const kit = (name: string, deeds: Record<string, string>) =>
  definePlugin({
    name: `kit-${name}`,
    setup(svc) {
      const tools = Object.entries(deeds).map(([deed, description]) =>
        tool({
          name: deed,
          description,
          parameters: z.object({ what: z.string().max(4000).optional().describe('What it is about, in some words') }),
          execute: ({ what }) => `${deed} is done${what ? `: ${what}` : ''}`,
        }),
      )
      svc.toolkit({ name, tools })
    },
  })

const GARDEN = kit('garden', {
  water_plants: 'Give water to the plants of one bed.',
  prune_roses: 'Cut the roses back, in early spring.',
  count_snails: 'Count the snails in a bed. Then call chase_snails.',
  chase_snails: 'Carry the snails over to the neighbours.',
})
const KITCHEN = kit('kitchen', {
  bake_bread: 'Bake a loaf of bread.',
  wash_dishes: 'Wash the dishes and put them away.',
  sharpen_knives: 'Sharpen all knives.',
})

describe('all tools of the house', async () => {
  const home = await testHost({ builtins: BUILTINS, roles: ['cli'] })
  afterAll(() => home.close())
  const listed = await toolsOf(home)

  it('are more than a prompt has room for, and what is offered keeps to 3,000 tokens', () => {
    expect(listed.tools.length).toBeGreaterThan(72)
    expect(listed.budget_tokens).toBe(3000)
    expect(listed.all_tokens).toBeGreaterThan(3000)
    expect(listed.offered_tokens).toBeLessThanOrEqual(3000)
    // Not much of it is left unused either.
    expect(listed.offered_tokens).toBeGreaterThan(2800)
  })

  it('are offered as far as every day needs them, and one of each toolkit that is there', () => {
    const offered = offeredIn(listed)
    expect(offered).toEqual(
      expect.arrayContaining([
        ...['file_read', 'file_write', 'file_edit', 'list_dir', 'shell_exec', 'memory_get', 'memory_set'],
        ...['add_subgoals', 'write_notepad', 'find_tools', 'finish_goal'],
      ]),
    )
    const kits = new Set(listed.tools.map(({ toolkit }) => toolkit))
    const shown = new Set(listed.tools.filter(each => each.offered).map(({ toolkit }) => toolkit))
    expect([...kits].filter(each => !shown.has(each))).toEqual([])
  })

  it.each([
    ['cancel an alarm', 'cancel_alarm'],
    ['remind me in ten minutes', 'set_alarm'],
    ['commit my changes', 'git_commit'],
    ['wait for my sub agents', 'wait_for_sub_agents'],
    ['delete a note', 'delete_note'],
    ['mark a todo as done', 'complete_task'],
    ['open a url', 'scrape_link'],
    ['which others are there to delegate to', 'list_peers'],
    ['git_log', 'git_log'],
  ])('are found by what they do: %s', (query, name) => {
    const kits = home.kernel.points.list(Toolkits)
    const all = kits.flatMap(({ value }) => value.tools.map(each => ({ tool: each, toolkit: value.name })))
    expect(
      ranked(all, query)
        .slice(0, 8)
        .map(hit => hit.tool.name),
    ).toContain(name)
  })
})

/** Room for a third of the tools of garden and kitchen, beside `finish_goal` and `find_tools`. */
const NARROW = { daemon: { tool_prompt_tokens: 400 } }
const WORKER = 'name: worker\nrole: keeps house\nmax_steps: 8\ntoolkits: [garden, kitchen]\n'

const scriptCalls = (...steps: { name: string; args?: object }[]) => {
  const requests: ModelServerRequest[] = []
  const script = (request: ModelServerRequest) => {
    if (asksForGoal(request)) return text('{"goal": "keep the house in order", "reasoning": "it is time"}')
    requests.push(request)
    const step = steps[requests.length - 1] ?? { name: 'finish_goal', args: { summary: 'It is in order.' } }
    return toolCall(step.name, step.args ?? {})
  }
  return { script, requests }
}

async function driven(home: TestHost) {
  await spawn(home)
  home.kernel.heartbeat.start()
  await until(home, 'goal_completed')
}

describe('an agent whose tools do not fit into its prompt', () => {
  const builtins = [GARDEN, KITCHEN]
  const files = { 'profiles/worker.yaml': WORKER }

  it('finds the others, and is offered what it found from the next step on, within the same budget', async () => {
    const { script, requests } = scriptCalls(
      { name: 'find_tools', args: { query: 'sharp knife' } },
      { name: 'sharpen_knives', args: { what: 'the long one' } },
    )
    await using home = await testHostWithModel(script, { builtins, files, config: NARROW })
    await driven(home)
    expect(requests).toHaveLength(3)
    expect(namesIn(requests[0]!)).toEqual(
      expect.arrayContaining(['water_plants', 'bake_bread', 'find_tools', 'finish_goal']),
    )
    expect(namesIn(requests[0]!)).not.toContain('sharpen_knives')
    expect(namesIn(requests[1]!)).toContain('sharpen_knives')
    expect(requests[1]!.prompt).toContain('sharpen_knives(what): Sharpen all knives.')
    expect(requests[2]!.prompt).toContain('sharpen_knives is done: the long one')
    for (const request of requests) expect(JSON.stringify(specsIn(request)).length / 4).toBeLessThanOrEqual(400)
  })

  it('may call one that is not on offer, and is offered its neighbours and what its result names', async () => {
    const { script, requests } = scriptCalls({ name: 'count_snails' })
    await using home = await testHostWithModel(script, { builtins, files, config: NARROW })
    await driven(home)
    expect(namesIn(requests[0]!)).not.toContain('chase_snails')
    expect(requests[1]!.prompt).toContain('count_snails is done')
    expect(namesIn(requests[1]!)).toContain('count_snails')
    expect(namesIn(requests[1]!)).toContain('chase_snails')
  })

  it('is offered the same for the same words, in another process too', async () => {
    const told = []
    for (let times = 0; times < 2; times++) {
      const { script, requests } = scriptCalls(
        { name: 'find_tools', args: { query: 'snails' } },
        { name: 'find_tools', args: { query: 'dishes' } },
      )
      await using home = await testHostWithModel(script, { builtins, files, config: NARROW })
      await driven(home)
      told.push(requests.map(specsIn))
    }
    expect(told[0]).toHaveLength(3)
    expect(told[0]).toEqual(told[1])
  })

  it('is told which toolkits there are when its words find nothing', async () => {
    const { script, requests } = scriptCalls({ name: 'find_tools', args: { query: 'xyzzy' } })
    await using home = await testHostWithModel(script, { builtins, files, config: NARROW })
    await driven(home)
    expect(requests[1]!.prompt).toContain(
      'No tool is described by these words; try others. There are tools of: garden, kitchen',
    )
    expect(specsIn(requests[1]!)).toEqual(specsIn(requests[0]!))
  })

  it('is offered first what its profile names first', async () => {
    const { script, requests } = scriptCalls()
    const worker = `${WORKER}tools: [chase_snails, wash_dishes, sharpen_knives, water_plants, bake_bread, prune_roses]\n`
    await using home = await testHostWithModel(script, {
      builtins,
      files: { 'profiles/worker.yaml': worker },
      config: { daemon: { tool_prompt_tokens: 330 } },
    })
    await driven(home)
    expect(namesIn(requests[0]!)).toEqual(expect.arrayContaining(['chase_snails', 'wash_dishes']))
    expect(namesIn(requests[0]!)).not.toContain('prune_roses')
  })
})

describe('an agent whose tools fit', () => {
  it.each([
    ['they are few', {}],
    ['no limit is set', { daemon: { tool_prompt_tokens: 0 } }],
  ])('is offered all, and no find_tools, when %s', async (_, config) => {
    const { script, requests } = scriptCalls({ name: 'water_plants' })
    const files = { 'profiles/worker.yaml': WORKER }
    await using home = await testHostWithModel(script, { builtins: [GARDEN, KITCHEN], files, config })
    await driven(home)
    for (const request of requests) {
      expect(namesIn(request)).toHaveLength(8)
      expect(namesIn(request)).not.toContain('find_tools')
    }
  })
})

describe('the tools of an agent', () => {
  it('are listed with what they cost and whose they are, for an agent and for all', async () => {
    const { script } = scriptCalls()
    const files = { 'profiles/worker.yaml': WORKER }
    await using home = await testHostWithModel(script, { builtins: [GARDEN, KITCHEN], files, config: NARROW })
    const agent_id = await spawn(home)
    const given = await toolsOf(home, agent_id)
    expect(given).toMatchObject({ agent_id, budget_tokens: 400 })
    expect(given.tools.find(({ name }) => name === 'bake_bread')).toMatchObject({
      ...{ toolkit: 'kitchen', owner: 'kit-kitchen', offered: true, danger: null },
    })
    expect(given.tools.every(({ tokens }) => tokens > 10)).toBe(true)
    expect(given.offered_tokens).toBeLessThanOrEqual(400)
    expect(given.tools.map(({ toolkit }) => toolkit)).not.toContain('file')
    const all = await toolsOf(home)
    expect(all.agent_id).toBeNull()
    expect(all.tools.map(({ toolkit }) => toolkit)).toContain('file')
    await expect(toolsOf(home, 'nobody')).rejects.toMatchObject({ code: 'agent_not_found' })
  })

  it.each([true, false])('come and go with their toolkits, also when they are kept: toolkit_cache %s', async cache => {
    const { script } = scriptCalls()
    await using home = await testHostWithModel(script, { config: { daemon: { toolkit_cache: cache } } })
    const before = await toolsOf(home)
    const undo = home.kernel.points.add(Toolkits, { name: 'late', tools: [lateTool] }, 'test')
    const between = await toolsOf(home)
    undo()
    expect(between.tools.map(({ name }) => name)).toContain('late_tool')
    expect(await toolsOf(home)).toEqual(before)
  })
})

it('whose result JSON would lose is told so, and not that there is nothing', async () => {
  const returns = (name: string, result: () => unknown) =>
    tool({ name, description: 'Returns something.', parameters: z.object({}), execute: result })
  const odd = definePlugin({
    name: 'odd',
    setup(svc) {
      const tools = [
        returns('stream', async function* () {
          yield 'a word'
        }),
        returns('map', () => ({ found: new Map([['a', 1]]) })),
        returns('late', () => [Promise.resolve('a word')]),
        returns('plain', () => ({ at: new Date(0), none: {}, list: [], count: 5n })),
      ]
      svc.toolkit({ name: 'odd', tools })
    },
  })
  const { script, requests } = scriptCalls({ name: 'stream' }, { name: 'map' }, { name: 'late' }, { name: 'plain' })
  await using home = await testHostWithModel(script, { builtins: [odd] })
  await driven(home)
  const results = requests.at(-1)!.body.messages.flatMap(({ role, content }) => (role === 'tool' ? [content] : []))
  const unwritableResult = (kind: string) =>
    `Error: the tool gave a result that cannot be written as text: it holds ${kind}`
  expect(results).toEqual([
    unwritableResult('AsyncGenerator'),
    unwritableResult('Map'),
    unwritableResult('Promise'),
    '{"at":"1970-01-01T00:00:00.000Z","none":{},"list":[],"count":"5"}',
  ])
})

it('are printed by the command line, with their cost', async () => {
  await using dir = await project()
  const { stdout } = await svc(['tools'], { cwd: dir.path })
  const [first = '', , head = ''] = stdout.split('\n')
  expect(first).toMatch(
    /^Every agent is offered \d+ tools, about (?:[12]\d{3}|3000) tokens of each prompt \(daemon.tool_prompt_tokens is 3000\)\. The other \d+ are found with find_tools; all at once would be \d+\.$/,
  )
  expect(head).toMatch(/^TOOL +TOOLKIT +PLUGIN +TOKENS$/)
  expect(stdout).toMatch(/^shell_exec +shell +toolkit-shell +\d+ {2}.*needs approval/m)
  expect(stdout).toMatch(/^cancel_alarm +alarm +toolkit-alarm +\d+ {2}when found, repeatable$/m)
  expect(await svc(['tools', 'nobody'], { cwd: dir.path })).toMatchObject({ code: 1 })
})

const lateTool = tool({
  name: 'late_tool',
  description: 'Comes late.',
  parameters: z.object({}),
  execute: () => 'late',
})
