import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { textTokens } from '#lib/text-tokens'
import { BUILTINS } from '../../../../builtins/index.ts'
import { SHIPPED } from '../../../bench/agents/prompts.ts'
import {
  type ModelRequestBody,
  type ModelServerRequest,
  modelServer,
  type TestHostOptions,
  testHost,
  text,
  toolCall,
  until,
} from '../../../support/index.ts'
import { asksForGoal } from '../models/model-host.ts'

const GOAL = 'Write a small tool that counts the words of a text'
/** Maximum size of a new agent's prompt and of its tools, in estimated tokens. */
const MOST = { system: 2_200, tools: 3_600 }
/** Presets that only read and write files. */
const SIMPLE = ['gambler', 'hustler', 'oracle', 'philosopher', 'writer']

interface First {
  system: string
  goal: string
  tools: NonNullable<ModelRequestBody['tools']>
}

/** Returns the first request of a pursuit for each preset, as sent over the wire, and the names of all tools. */
async function firstRequests(presets: readonly string[], options: TestHostOptions = {}) {
  const requests: ModelServerRequest[] = []
  await using server = await modelServer({
    script(request) {
      if (asksForGoal(request)) return text(JSON.stringify({ goal: GOAL, reasoning: 'It is time.' }))
      requests.push(request)
      return toolCall('finish_goal', { summary: 'It counts words.' })
    },
  })
  await using home = await testHost({
    // Keeps prompts the same on every machine.
    config: { tools: { sandbox: 'off' }, schedules: { time_zone: 'UTC' } },
    ...options,
    builtins: BUILTINS,
    // Starts no daemon before the last agent exists: each prompt names the other agents.
    roles: ['cli'],
    env: { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'test-key', OPENAI_MODEL: 'scripted' },
  })
  for (const preset of presets) await home.kernel.invoke('agents.spawn', { preset })
  expect(home.kernel.heartbeat.live).toBe(false)
  home.kernel.heartbeat.start()
  await until(() => requests.length >= presets.length)
  const { tools } = (await home.kernel.invoke('tools.list', {})) as { tools: { name: string }[] }
  const firsts = requests.map(({ body }): [string, First] => {
    const [system, ...said] = body.messages.map(({ content }) => content ?? '')
    const name = /You are (\w+)\./.exec(system!)![1]!
    // Ids are random.
    const shown = system!.replace(/\b([a-z]+)-[0-9a-f]{8}\b/g, '$1-00000000')
    return [name, { system: shown, goal: said.join('\n\n'), tools: body.tools ?? [] }]
  })
  return { firsts: new Map(firsts), names: tools.map(({ name }) => name) }
}

const tokensOf = (tools: First['tools']) =>
  tools.reduce((sum, each) => sum + textTokens(JSON.stringify(each.function)), 0)
const namesOf = ({ tools }: First) => tools.map(each => each.function.name)

/** Renders a request as a readable page. */
function page({ system, goal, tools }: First): string {
  const list = tools.map(({ function: { name, description, parameters } }) => {
    const keys = Object.keys((parameters.properties ?? {}) as object).join(', ')
    return `- **${name}**(${keys}): ${description}`
  })
  const figures = `About ${textTokens(system)} tokens of prompt and ${tokensOf(tools)} of ${tools.length} tools.`
  return `${['# System', system, '# Goal', goal, '# Tools', list.join('\n'), figures].join('\n\n')}\n`
}

describe('the first prompt of each preset', () => {
  let shown: Awaited<ReturnType<typeof firstRequests>>
  beforeAll(async () => {
    shown = await firstRequests(SHIPPED)
  }, 120_000)

  it.each(SHIPPED)('matches its reviewed snapshot: %s', async preset => {
    const file = join(import.meta.dirname, '../../../golden/prompts', `${preset}.md`)
    await expect(page(shown.firsts.get(preset)!)).toMatchFileSnapshot(file)
  })

  it.each(SHIPPED)('names no tool that is not offered: %s', preset => {
    const first = shown.firsts.get(preset)!
    const named = first.system.match(/\b[a-z]+(?:_[a-z]+)+\b/g) ?? []
    const descriptions = first.tools.flatMap(each => each.function.description.match(/\b[a-z]+(?:_[a-z]+)+\b/g) ?? [])
    const hidden = [...named, ...descriptions].filter(name => shown.names.includes(name))
    expect(hidden.filter(name => !namesOf(first).includes(name))).toEqual([])
  })

  it('is short and offers few tools', () => {
    for (const [preset, { system, tools }] of shown.firsts) {
      const size = { system: textTokens(system), tools: tokensOf(tools), count: tools.length }
      console.log(`${preset}: ${size.system} tokens of prompt, ${size.tools} tokens of ${size.count} tools`)
      expect(size.system).toBeLessThanOrEqual(MOST.system)
      expect(size.tools).toBeLessThanOrEqual(MOST.tools)
      if (SIMPLE.includes(preset)) expect(size.count).toBeLessThanOrEqual(14)
    }
  })

  it.each(SHIPPED)('offers no tool that writes without the one that reads: %s', preset => {
    const names = namesOf(shown.firsts.get(preset)!)
    const pairs = { file_write: 'file_read', write_notepad: 'read_notepad', git_commit: 'git_status' }
    for (const [writer, reader] of Object.entries(pairs)) if (names.includes(writer)) expect(names).toContain(reader)
  })
})

it('a prompt holds persona and mood only where the profile asks for them, after the rules and the goal', async () => {
  const worker = (name: string, inner: string) =>
    `name: ${name}\nrole: works\npersona: { purpose: to be useful }\ninner_life: [${inner}]\ncore: []\n`
  const files = {
    'profiles/plain.yaml': worker('plain', ''),
    'profiles/someone.yaml': worker('someone', 'persona, mood'),
  }
  const { firsts } = await firstRequests(['plain', 'someone'], { files })
  const marks = ['call finish_goal', 'Purpose: to be useful', 'Just now: ', 'Mood: ']
  const placesIn = (name: string) => {
    const { system, goal } = firsts.get(name)!
    return marks.map(mark => `${system}${goal}`.indexOf(mark))
  }
  expect(placesIn('plain')).toEqual([expect.any(Number), -1, -1, -1])
  const places = placesIn('someone')
  expect(places).toEqual([...places].sort((a, b) => a - b))
  expect(places[0]).toBeGreaterThan(0)
  // What changes is no part of the system prompt, so that the provider's prompt cache holds.
  expect(firsts.get('someone')!.system).not.toMatch(/Just now|Mood/)
}, 60_000)
