import { afterAll, describe, expect, it } from 'vitest'
import { Profile } from '#core/profiles/contract'
import { rankTools } from '#core/runtime/find-tools'
import { ToolSets } from '#core/runtime/tools'
import { definePlugin, z } from '#kernel'
import { textTokens } from '#lib/text-tokens'
import { type Tool, Toolkits, tool } from '#tools/toolkits/contract'
import { BUILTINS } from '../../../builtins/index.ts'
import { project } from '../../cli/project.ts'
import { type ModelServerRequest, type TestHost, testHost, text, toolCall, until } from '../../support/index.ts'
import { svc } from '../../support/vitest/warm.ts'
import { asksForGoal, spawn, testHostWithModel } from '../core/models/model-host.ts'

interface ListedTools {
  agent_id: string | null
  budget_tokens: number
  offered_tokens: number
  all_tokens: number
  tools: {
    name: string
    toolkit: string
    owner: string
    tokens: number
    offered: boolean
    danger: string | null
    requires_approval: boolean
  }[]
}
const toolsOf = ({ kernel }: TestHost, id?: string) =>
  kernel.invoke('tools.list', id ? { id } : {}) as Promise<ListedTools>
const offeredIn = ({ tools }: ListedTools) => tools.filter(({ offered }) => offered).map(({ name }) => name)
/** Names of the tools that one request sends to the model. */
const namesIn = ({ body }: ModelServerRequest) => (body.tools ?? []).map(each => each.function.name)
const specsIn = ({ body }: ModelServerRequest) => (body.tools ?? []).map(each => each.function)

/** Returns a plugin with a toolkit of these tools, by name and description. */
const kit = (name: string, actions: Record<string, string>, instructions?: string) =>
  definePlugin({
    name: `kit-${name}`,
    setup(svc) {
      const tools = Object.entries(actions).map(([action, description]) =>
        tool({
          name: action,
          description,
          parameters: z.object({
            what: z.string().max(4000).optional().describe('Subject of the session, in some words'),
          }),
          execute: ({ what }) => `${action} is done${what ? `: ${what}` : ''}`,
        }),
      )
      svc.toolkit({ name, tools, ...(instructions && { instructions }) })
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

describe('all tools of the project', async () => {
  const home = await testHost({ builtins: BUILTINS, roles: ['cli'] })
  afterAll(() => home.close())
  const listed = await toolsOf(home)

  it('are more than 72, of which the everyday toolkits are offered by default', () => {
    expect(listed.tools.length).toBeGreaterThan(72)
    expect(listed.budget_tokens).toBe(0)
    const offered = offeredIn(listed)
    expect(offered.length).toBeLessThan(25)
    expect(offered).toEqual(
      expect.arrayContaining([
        'file_read',
        'file_write',
        'file_edit',
        'list_dir',
        'shell_exec',
        'web_fetch',
        'web_search',
        'add_subgoals',
        'update_plan',
        'ask_operator',
        'write_notepad',
        'read_notepad',
        'find_tools',
        'finish_goal',
      ]),
    )
    const kits = new Set(listed.tools.filter(each => each.offered).map(({ toolkit }) => toolkit))
    expect(kits).toEqual(new Set(['file', 'shell', 'notepad', 'web', 'goals', 'questions', 'comms', 'runtime']))
  })

  it('need approval where calls of them wait for it, by the configuration', async () => {
    expect(listed.tools.filter(({ requires_approval }) => requires_approval)).toEqual([])
    const approval = { enabled: true, require_for: ['git_commit'], auto_approve: ['shell_exec'] }
    await using gated = await testHost({ builtins: BUILTINS, roles: ['cli'], config: { approval } })
    const waiting = (await toolsOf(gated)).tools.filter(({ requires_approval }) => requires_approval)
    const names = waiting.map(({ name }) => name)
    // Both of these declare a danger.
    expect(names).toEqual(expect.arrayContaining(['file_write', 'file_edit', 'git_commit']))
    expect(names).not.toContain('shell_exec')
    expect(names).not.toContain('file_read')
  })

  it('are described to models without references, which some servers refuse', () => {
    const { tools } = home.kernel.use(ToolSets)(Profile.parse({ name: 'worker', role: 'works' }))
    expect(tools.map(({ spec }) => spec.name)).toContain('update_plan')
    expect(JSON.stringify(tools.map(({ spec }) => spec))).not.toMatch(/\$ref|\$defs/)
  })

  it.each([
    ['search files by pattern', 'glob'],
    ['find a text in files', 'grep'],
    ['apply a patch', 'file_patch'],
    ['read a page of the web', 'web_fetch'],
    ['commit my changes', 'git_commit'],
    ['clear my notepad', 'clear_notepad'],
  ])('are found with the best match first: %s', (query, name) => {
    const kits = home.kernel.points.list(Toolkits)
    const all = kits.flatMap(({ value }) => value.tools.map(each => ({ tool: each, toolkit: value.name })))
    expect(rankTools(all, query)[0]?.tool.name).toBe(name)
  })

  it.each([
    ['cancel an alarm', 'cancel_alarm'],
    ['remind me in ten minutes', 'set_alarm'],
    ['run something later, every day at a time', 'schedule_goal'],
    ['do something later', 'set_alarm'],
    ['run python', 'shell_exec'],
    ['commit my changes', 'git_commit'],
    ['wait for my sub agents', 'wait_for_sub_agents'],
    ['delete a note', 'delete_note'],
    ['mark a todo as done', 'complete_task'],
    ['open a url', 'scrape_link'],
    ['which others are there to delegate to', 'list_peers'],
    ['git_log', 'git_log'],
    ['read my notes', 'read_note'],
    ['send a message to another agent', 'send_message'],
    ['do something every day', 'schedule_goal'],
    ['remember something long-term', 'save_note'],
    ['remember something long-term', 'write_notepad'],
    ['my earlier goals and their results', 'search_notes'],
    ['what were my earlier goals', 'search_notes'],
    ['send a message to another agent; remember something long-term', 'send_message'],
    ['send a message to another agent; remember something long-term', 'save_note'],
    ['start a helper agent for a part of the work and wait for its result', 'spawn_sub_agent'],
  ])('are found by what they do: %s', (query, name) => {
    const kits = home.kernel.points.list(Toolkits)
    const all = kits.flatMap(({ value }) => value.tools.map(each => ({ tool: each, toolkit: value.name })))
    expect(
      rankTools(all, query)
        .slice(0, 6)
        .map(hit => hit.tool.name),
    ).toContain(name)
  })

  it.each([
    ['remember something long-term', 'terminate_sub_agent'],
    ['do something every day', 'search_notes'],
    ['apply a patch', 'file_write'],
    ['execute a program', 'plugins_list'],
    ['run the tests of my project', 'plugins_list'],
  ])('are not found by a common word or the beginning of another one: %s', (query, name) => {
    const kits = home.kernel.points.list(Toolkits)
    const all = kits.flatMap(({ value }) => value.tools.map(each => ({ tool: each, toolkit: value.name })))
    expect(rankTools(all, query).map(hit => hit.tool.name)).not.toContain(name)
  })
})

const GARDEN_TOOLS = ['water_plants', 'prune_roses', 'count_snails', 'chase_snails']

/** Budget for one of garden and kitchen and half of the other, beside `finish_goal` and `find_tools`. */
const NARROW = { daemon: { tool_prompt_tokens: 547 } }
const WORKER = 'name: worker\nrole: keeps order\nmax_steps: 8\ntoolkits: [garden, kitchen]\n'

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

  it('finds others with find_tools, and is offered them from the next step on, within the same budget', async () => {
    const { script, requests } = scriptCalls(
      { name: 'find_tools', args: { query: 'sharp knife' } },
      { name: 'sharpen_knives', args: { what: 'the long one' } },
    )
    await using home = await testHostWithModel(script, { builtins, files, config: NARROW })
    await driven(home)
    expect(requests).toHaveLength(3)
    expect(namesIn(requests[0]!)).toEqual([...GARDEN_TOOLS, 'finish_goal', 'find_tools'])
    expect(namesIn(requests[1]!)).toContain('sharpen_knives')
    expect(requests[1]!.prompt).toContain('sharpen_knives(what): Sharpen all knives.')
    expect(requests[2]!.prompt).toContain('sharpen_knives is done: the long one')
    for (const request of requests) {
      const tokens = specsIn(request).map(spec => textTokens(JSON.stringify(spec)))
      expect(tokens.reduce((sum, each) => sum + each)).toBeLessThanOrEqual(547)
    }
  })

  it('may call a tool that is not offered, and is then offered its neighbours and the tools its result names', async () => {
    const { script, requests } = scriptCalls({ name: 'bake_bread', args: { what: 'then call sharpen_knives' } })
    await using home = await testHostWithModel(script, { builtins, files, config: NARROW })
    await driven(home)
    expect(namesIn(requests[0]!)).not.toContain('bake_bread')
    expect(requests[1]!.prompt).toContain('bake_bread is done')
    expect(namesIn(requests[1]!)).toEqual(expect.arrayContaining(['bake_bread', 'sharpen_knives', 'wash_dishes']))
  })

  it('is offered the same tools after it called one of them, though others of its toolkit are not in view', async () => {
    const shed = definePlugin({
      name: 'kit-shed',
      setup(svc) {
        const make = (name: string, hidden: boolean) =>
          tool({ name, description: 'Works on the shed.', parameters: z.object({}), hidden, execute: () => 'done' })
        svc.toolkit({ name: 'shed', tools: [make('open_shed', false), make('paint_shed', true)] })
      },
    })
    const { script, requests } = scriptCalls({ name: 'open_shed' }, { name: 'paint_shed' })
    const worker = 'name: worker\nrole: tidies up\ntoolkits: [shed]\n'
    await using home = await testHostWithModel(script, { builtins: [shed], files: { 'profiles/worker.yaml': worker } })
    await driven(home)
    const inView = ['open_shed', 'finish_goal', 'find_tools']
    expect(requests.map(namesIn)).toEqual([inView, inView, [...inView, 'paint_shed']])
  })

  it('gets the instructions of the best hit with the tools that they name, and is reminded of tools in view', async () => {
    const outside = kit(
      'outside',
      { clean_pond: 'Clean the pond.', feed_fish: 'Give food to them.' },
      'Before other work, call `feed_fish`.',
    )
    const shed = kit('shed', { clean_shed: 'Clean the shed beside the pond.' }, 'Keep the shed dry.')
    const { script, requests } = scriptCalls({ name: 'find_tools', args: { query: 'clean the pond, wash the dishes' } })
    const worker = 'name: worker\nrole: keeps order\ntoolkits: [kitchen, outside, shed]\ncore: [kitchen]\n'
    await using home = await testHostWithModel(script, {
      builtins: [KITCHEN, outside, shed],
      files: { 'profiles/worker.yaml': worker },
    })
    await driven(home)
    const added = namesIn(requests[1]!).filter(name => !namesIn(requests[0]!).includes(name))
    expect(added).toEqual(['clean_pond', 'feed_fish', 'clean_shed'])
    expect(requests[1]!.prompt).toContain('You already have: `wash_dishes`.')
    expect(requests[1]!.prompt).not.toContain('wash_dishes(')
    expect(requests[1]!.prompt).toContain('Before other work, call `feed_fish`.')
    expect(requests[1]!.prompt).not.toContain('Keep the shed dry.')
  })

  it('is offered the same tools for the same searches in a second run', async () => {
    const seen = []
    for (let times = 0; times < 2; times++) {
      const { script, requests } = scriptCalls(
        { name: 'find_tools', args: { query: 'knives' } },
        { name: 'find_tools', args: { query: 'dishes' } },
      )
      await using home = await testHostWithModel(script, { builtins, files, config: NARROW })
      await driven(home)
      seen.push(requests.map(specsIn))
    }
    expect(seen[0]).toHaveLength(3)
    expect(seen[0]).toEqual(seen[1])
  })

  it('keeps the tools in use in a small context window, and reads of the tools that it has there', async () => {
    const { script, requests } = scriptCalls(
      { name: 'sharpen_knives' },
      { name: 'find_tools', args: { query: 'prune roses' } },
      { name: 'shovel_snow' },
      { name: 'prune_roses' },
    )
    const window = 'models: { "openai:scripted": { context_window: 1550 } }\n'
    await using home = await testHostWithModel(script, { builtins, files: { ...files, 'models.yaml': window } })
    await driven(home)
    const offered = requests.map(namesIn)
    expect(offered[0]).toEqual([...GARDEN_TOOLS.slice(0, 3), 'finish_goal', 'find_tools'])
    // More tools fit without the descriptions of their parameters.
    expect(JSON.stringify(specsIn(requests[0]!).map(({ parameters }) => parameters))).not.toContain('description')
    expect(offered[1]).toContain('sharpen_knives')
    expect(offered[1]).not.toContain('prune_roses')
    expect(requests[2]!.prompt).toContain('- prune_roses(what): ')
    expect(offered[2]).toEqual(expect.arrayContaining(['prune_roses', 'sharpen_knives']))
    expect(requests[3]!.prompt).toContain(`There are: ${offered[2]!.join(', ')}`)
    // Nothing outside the offer was called since, so it stays the same for the provider's prompt cache.
    expect(offered.slice(3)).toEqual([offered[2], offered[2]])
  })

  it('keeps the core of its profile, whatever its system prompt names, and the first toolkits of it longest', async () => {
    const outside = kit('outside', { feed_fish: 'Give food to them.' })
    const profile = (more: string) =>
      `name: worker\nrole: works\nmax_steps: 8\ntoolkits: [garden, kitchen, outside]\ncore: [garden, kitchen]\n${more}`
    const offered = async (more: string, tool_prompt_tokens: number, ...calls: { name: string }[]) => {
      const { script, requests } = scriptCalls(...calls)
      await using home = await testHostWithModel(script, {
        builtins: [GARDEN, KITCHEN, outside],
        config: { daemon: { tool_prompt_tokens } },
        files: { 'profiles/worker.yaml': profile(more) },
      })
      await driven(home)
      const all = (await home.kernel.invoke('tools.list', {
        id: ((await home.kernel.invoke('agents.list', {})) as { agent_id: string }[])[0]!.agent_id,
      })) as { offered_tokens: number }
      return { names: requests.map(namesIn), tokens: all.offered_tokens }
    }
    const whole = await offered('', 0)
    expect(whole.names[0]).not.toContain('feed_fish')
    const named = await offered('system_prompt: Use feed_fish.\n', whole.tokens)
    expect(named.names[0]).toEqual(whole.names[0])
    expect((await offered('system_prompt: Use feed_fish.\n', 0)).names[0]).toContain('feed_fish')
    const used = await offered('', 547, { name: 'bake_bread' })
    expect(used.names[1]).toEqual(expect.arrayContaining(['bake_bread', 'water_plants']))
  })

  it('gets a list of toolkits when a search finds nothing', async () => {
    const { script, requests } = scriptCalls({ name: 'find_tools', args: { query: 'xyzzy' } })
    await using home = await testHostWithModel(script, { builtins, files, config: NARROW })
    await driven(home)
    expect(requests[1]!.prompt).toContain('No tool matches these words; try others. There are tools for: kitchen')
    expect(specsIn(requests[1]!)).toEqual(specsIn(requests[0]!))
  })

  it('is offered tools in the order of its profile, as far as they fit', async () => {
    const { script, requests } = scriptCalls()
    const worker = `${WORKER}tools: [chase_snails, wash_dishes, sharpen_knives, water_plants, bake_bread, prune_roses]\n`
    await using home = await testHostWithModel(script, {
      builtins,
      files: { 'profiles/worker.yaml': worker },
      config: { daemon: { tool_prompt_tokens: 425 } },
    })
    await driven(home)
    expect(namesIn(requests[0]!)).toEqual(expect.arrayContaining(['chase_snails', 'wash_dishes']))
    expect(namesIn(requests[0]!)).not.toContain('prune_roses')
  })
})

describe('tool settings of a profile', () => {
  const builtins = [GARDEN, KITCHEN]

  it('choose which toolkits are offered, in which order; the toolkit of the best hit follows whole, once', async () => {
    const { script, requests } = scriptCalls(
      { name: 'find_tools', args: { query: 'water the plants' } },
      { name: 'water_plants' },
    )
    const files = { 'profiles/worker.yaml': `${WORKER}core: [kitchen]\n` }
    await using home = await testHostWithModel(script, { builtins, files })
    await driven(home)
    const kitchen = ['bake_bread', 'wash_dishes', 'sharpen_knives', 'finish_goal', 'find_tools']
    expect(namesIn(requests[0]!)).toEqual(kitchen)
    expect(new Set(namesIn(requests[1]!))).toEqual(new Set([...kitchen, ...GARDEN_TOOLS]))
    expect(namesIn(requests[1]!).slice(0, kitchen.length)).toEqual(kitchen)
    // The call changes nothing more, so that the provider's prompt cache holds.
    expect(specsIn(requests[2]!)).toEqual(specsIn(requests[1]!))
  })

  it('offer a tool that the prompt names alone, also after it was called', async () => {
    const { script, requests } = scriptCalls({ name: 'water_plants' })
    const worker = `${WORKER}core: [kitchen]\nsystem_prompt: 'In dry weather call \`water_plants\`.'\n`
    await using home = await testHostWithModel(script, { builtins, files: { 'profiles/worker.yaml': worker } })
    await driven(home)
    expect(namesIn(requests[0]!)).toContain('water_plants')
    expect(specsIn(requests[1]!)).toEqual(specsIn(requests[0]!))
  })

  it('offer the tools of plugin files after those of core, unless the plugin wants them found', async () => {
    const { script, requests } = scriptCalls()
    const plugin = (name: string, more = '') => `import { definePlugin, z } from 'svc'
export default definePlugin({ name: '${name}', setup(svc) {
  svc.toolkit({ name: '${name}', ${more} tools: [{ name: 'ask_${name}', description: 'Asks.', parameters: z.object({}), execute: () => 'yes' }] })
} })
`
    const files = {
      'profiles/worker.yaml': 'name: worker\nrole: does its work\ncore: [kitchen]\n',
      'plugins/weather.ts': plugin('weather'),
      'plugins/rare.ts': plugin('rare', 'everyday: false,'),
    }
    await using home = await testHostWithModel(script, { builtins, files })
    await driven(home)
    const offered = namesIn(requests[0]!)
    expect(offered).toContain('ask_weather')
    expect(offered.indexOf('ask_weather')).toBeGreaterThan(offered.indexOf('sharpen_knives'))
    expect(offered).not.toContain('ask_rare')
  })

  it('are reported with the closest match when core names a toolkit that does not exist', async () => {
    const files = { 'profiles/worker.yaml': `${WORKER}core: [kitchn]\n` }
    await using home = await testHostWithModel(scriptCalls().script, { builtins, files })
    await spawn(home)
    expect(home.logged('core names the toolkit "kitchn"')[0]?.msg).toContain('did you mean "kitchen"?')
  })

  it('offer no tool because of a word that only looks like its name', async () => {
    const odd = kit('odd', { work: 'Do some work.', brush_shoes: 'Brush the shoes.' })
    const { script, requests } = scriptCalls({ name: 'bake_bread', args: { what: 'work, work, work' } })
    const files = { 'profiles/worker.yaml': 'name: worker\nrole: does its work\ncore: [kitchen]\n' }
    await using home = await testHostWithModel(script, { builtins: [...builtins, odd], files })
    await driven(home)
    expect(requests[1]!.prompt).toContain('work, work, work')
    expect(namesIn(requests[1]!)).toEqual(namesIn(requests[0]!))
  })
})

describe('text that a tool returns', () => {
  const MANUAL = 'Then call water_plants(all), or `sharpen_knives`.'
  const manuals = definePlugin({
    name: 'manuals',
    setup(svc) {
      const read = { parameters: z.object({}), execute: () => MANUAL }
      const tools: Tool[] = [
        { name: 'read_source', description: 'Read a source file.', ...read },
        { name: 'read_skill', description: 'Read a skill.', keeps_result: true, ...read },
      ]
      svc.toolkit({ name: 'manuals', tools })
    },
  })

  it.each([
    ['read_source', 'changes no offer by the names of tools in it', []],
    ['read_skill', 'is offered the tools that a skill names', ['water_plants']],
  ])('with %s %s', async (tool, _, added) => {
    const { script, requests } = scriptCalls({ name: tool })
    const files = {
      'profiles/worker.yaml':
        'name: worker\nrole: reads\nmax_steps: 8\ncore: [manuals, kitchen]\ntoolkits: [manuals, garden, kitchen]\n',
    }
    await using home = await testHostWithModel(script, { builtins: [GARDEN, KITCHEN, manuals], files })
    await driven(home)
    const first = namesIn(requests[0]!)
    expect(requests[1]!.prompt).toContain(MANUAL)
    expect(first).not.toContain('water_plants')
    expect(namesIn(requests[1]!)).toEqual([...first, ...added])
  })
})

describe('an agent whose tools fit into its prompt', () => {
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
  it('are listed with their cost and owner, for one agent and for all', async () => {
    const { script } = scriptCalls()
    const files = { 'profiles/worker.yaml': WORKER }
    await using home = await testHostWithModel(script, { builtins: [GARDEN, KITCHEN], files, config: NARROW })
    const agent_id = await spawn(home)
    const given = await toolsOf(home, agent_id)
    expect(given).toMatchObject({ agent_id, budget_tokens: 547 })
    expect(given.tools.find(({ name }) => name === 'bake_bread')).toMatchObject({
      toolkit: 'kitchen',
      owner: 'kit-kitchen',
      offered: false,
      danger: null,
    })
    expect(given.tools.every(({ tokens }) => tokens > 10)).toBe(true)
    expect(given.offered_tokens).toBeLessThanOrEqual(547)
    expect(given.tools.map(({ toolkit }) => toolkit)).not.toContain('file')
    const all = await toolsOf(home)
    expect(all.agent_id).toBeNull()
    expect(all.tools.map(({ toolkit }) => toolkit)).toContain('file')
    await expect(toolsOf(home, 'nobody')).rejects.toMatchObject({ code: 'agent_not_found' })
  })

  it('are kept for a limited number of selections, because a task may name any', async () => {
    await using home = await testHostWithModel(() => text('Done.'))
    const all = Profile.parse({ name: 'worker', role: 'works' })
    const first = () => home.kernel.use(ToolSets)(all, ['file'])
    const before = first()
    expect(first()).toBe(before)
    for (let n = 0; n < 200; n++) home.kernel.use(ToolSets)(all, [`toolkit-${n}`])
    expect(first()).not.toBe(before)
  })

  it.each([true, false])('come and go with their toolkits, with toolkit_cache %s', async cache => {
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

it('a schema is sent with its definitions in place, except one that contains itself or has others', async () => {
  const Bed = z.object({
    name: z.string(),
    get beds() {
      return z.array(Bed).optional()
    },
  })
  const Step = z.object({ n: z.int() }).meta({ id: 'StepOfTest' })
  const made = (name: string, parameters: z.ZodType) =>
    tool({ name, description: 'Plans.', parameters, execute: () => 'done' })
  const plans = definePlugin({
    name: 'plans',
    setup: svc =>
      void svc.toolkit({
        name: 'plans',
        everyday: true,
        tools: [
          made('flat', z.object({ first: Step.describe('The first'), all: z.array(Step) })),
          made('nested', z.object({ bed: Bed })),
        ],
      }),
  })
  const { script, requests } = scriptCalls()
  await using home = await testHostWithModel(script, { builtins: [plans] })
  await driven(home)
  const parametersOf = (name: string) => specsIn(requests[0]!).find(spec => spec.name === name)!.parameters
  const step = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
  expect(parametersOf('flat')).toEqual({
    type: 'object',
    properties: { first: { ...step, description: 'The first' }, all: { type: 'array', items: step } },
    required: ['first', 'all'],
  })
  expect(JSON.stringify(parametersOf('nested'))).toMatch(/"\$ref":"#\/\$defs\/.*"\$defs":/)
})

it('a tool whose result JSON cannot represent returns an error that says so', async () => {
  const returns = (name: string, result: () => unknown) =>
    tool({ name, description: 'Returns something.', parameters: z.object({}), execute: result })
  // Converting a large file byte by byte would block the process for seconds.
  const unreadable = Object.assign(Buffer.alloc(1), {
    toJSON() {
      throw new Error('the bytes were read')
    },
  })
  const odd = definePlugin({
    name: 'odd',
    setup(svc) {
      const tools = [
        returns('stream', async function* () {
          yield 'a word'
        }),
        returns('map', () => ({ found: [new Map([['a', 1]])] })),
        returns('file', () => ({ files: [{ file: unreadable }] })),
        returns('loop', () => {
          const node: Record<string, unknown> = {}
          return Object.assign(node, { next: node })
        }),
        returns('plain', () => ({ at: new Date(0), none: {}, list: [], count: 5n })),
      ]
      svc.toolkit({ name: 'odd', tools })
    },
  })
  const { script, requests } = scriptCalls(...['stream', 'map', 'plain', 'file', 'loop'].map(name => ({ name })))
  const files = { 'profiles/worker.yaml': 'name: worker\nrole: keeps order\nmax_steps: 8\n' }
  await using home = await testHostWithModel(script, { builtins: [odd], files })
  await driven(home)
  const results = requests.at(-1)!.body.messages.flatMap(({ role, content }) => (role === 'tool' ? [content] : []))
  const unwritableResult = (why: string) => `Error: the tool returned a result that cannot be converted to text: ${why}`
  expect(results).toEqual([
    unwritableResult('it contains AsyncGenerator'),
    unwritableResult('it contains Map'),
    '{"at":"1970-01-01T00:00:00.000Z","none":{},"list":[],"count":"5"}',
    unwritableResult('it contains Uint8Array'),
    unwritableResult('Converting circular structure to JSON'),
  ])
  for (const name of ['stream', 'map', 'file', 'loop'])
    expect(home.logged(`a call of the tool ${name} failed: the tool returned a result`)).toHaveLength(1)
})

it('svc tools prints the tools with their cost', async () => {
  await using dir = await project({ '.svc/config.yaml': 'approval:\n  enabled: true\n' })
  const { stdout } = await svc(['tools'], { cwd: dir.path })
  const [first = '', , head = ''] = stdout.split('\n')
  expect(first).toMatch(
    /^Every agent sees \d+ tools, about \d{4} tokens of each prompt \(at most a fifth of the model's context window\)\. The other \d+ are found with find_tools; all tools together would take \d+\.$/,
  )
  expect(head).toMatch(/^TOOL +TOOLKIT +PLUGIN +TOKENS$/)
  expect(stdout).toMatch(/^shell_exec +shell +toolkit-shell +\d+ {2}.*needs approval/m)
  expect(stdout).toMatch(/^cancel_alarm +alarm +toolkit-alarm +\d+ {2}only with find_tools, idempotent$/m)
  expect(await svc(['tools', 'nobody'], { cwd: dir.path })).toMatchObject({ code: 1 })
})

const lateTool = tool({
  name: 'late_tool',
  description: 'Comes late.',
  parameters: z.object({}),
  execute: () => 'late',
})
