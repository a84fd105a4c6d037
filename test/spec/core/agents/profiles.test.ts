import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, realpath, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Profile, Profiles } from '#core/profiles/contract'
import profiles from '#core/profiles/index'
import { type Kernel, Operations, type SvcError } from '#kernel'
import { openKernel } from '../../../../embed/compose.ts'

const PRESETS = ['coder', 'gambler', 'hustler', 'oracle', 'philosopher', 'researcher', 'reviewer', 'tester', 'writer']

let root: string
let kernel: Kernel
let lines: { level: number; msg: string }[]

async function open(env: Record<string, string> = {}): Promise<void> {
  const log = { write: (line: string) => void lines.push(JSON.parse(line)) }
  kernel = await openKernel({ root, roles: ['cli'], builtins: [profiles], ports: { env }, log })
}

beforeEach(async () => {
  lines = []
  root = await realpath(await mkdtemp(join(tmpdir(), 'svc-profiles-')))
  await mkdir(join(root, '.svc'))
  await mkdir(join(root, 'profiles'))
  await open()
})

afterEach(async () => {
  await kernel.close()
  await rm(root, { recursive: true, force: true })
})

const use = () => kernel.use(Profiles)
const put = (name: string, text: string | Buffer) => writeFile(join(root, 'profiles', name), text)
const warnings = () => lines.filter(({ level }) => level >= 40).map(({ msg }) => msg)

async function refusal(name: string): Promise<SvcError> {
  return use()
    .get(name)
    .then(
      profile => expect.fail(`${name} was taken: ${JSON.stringify(profile)}`),
      error => error,
    )
}

describe('presets of the package', () => {
  test('are nine, each with a persona, a system prompt and its number of steps', async () => {
    const all = await use().list()
    expect(all.map(({ name }) => name)).toEqual(PRESETS)
    expect(all.map(({ profile }) => profile?.max_steps)).toEqual([20, 20, 20, 5, 10, 30, 15, 25, 15])
    for (const { name, file, profile, error } of all) {
      expect(error).toBeNull()
      expect(file).toBe(`svc/profiles/${name}.yaml`)
      expect(profile).toMatchObject({ name, model: '', max_tokens: 4096, toolkits: null, tools: null })
      expect(profile!.personality.traits.length).toBeGreaterThan(2)
      expect(profile!.persona).toMatchObject({ purpose: expect.stringMatching(/.{20}/) })
      for (const list of ['values', 'fears', 'goals'] as const)
        expect(profile!.persona![list].length).toBeGreaterThan(1)
      expect(profile!.system_prompt.length).toBeGreaterThan(800)
    }
    expect(warnings()).toEqual([])
  })

  test('name only skills that exist', async () => {
    for (const { profile } of await use().list())
      for (const name of profile!.skills)
        expect(existsSync(new URL(`../../../../profiles/skills/${name}/SKILL.md`, import.meta.url)), name).toBe(true)
  })

  test('are overridden by files of the project', async () => {
    await put('coder.yaml', 'role: My own coder')
    await put('gardener.yml', 'role: Gardener')
    expect((await use().get('coder')).role).toBe('My own coder')
    expect((await use().list()).map(({ name }) => name)).toEqual([...PRESETS, 'gardener'].sort())
    await rm(join(root, 'profiles/coder.yaml'))
    expect((await use().get('coder')).role).toContain('Software engineer')
  })

  test('are not used when profiles_dir names another folder', async () => {
    await kernel.close()
    await mkdir(join(root, 'crew'))
    await writeFile(join(root, 'crew/cook.yaml'), 'role: Cook')
    await open({ SVC_PROFILES_DIR: 'crew' })
    expect((await use().list()).map(({ name, file }) => [name, file])).toEqual([['cook', 'crew/cook.yaml']])
    expect((await refusal('coder')).message).toBe('There is no profile "coder"; there are: cook.')
  })
})

describe('a profile file', () => {
  test('has every default, and its stem as its name, when it is empty', async () => {
    await put('plain.yaml', '')
    await put('comment.yaml', '# nothing yet\n')
    expect(await use().get('plain')).toEqual(Profile.parse({ name: 'plain', role: 'general agent' }))
    expect(await use().get('comment')).toMatchObject({
      max_steps: 20,
      temperature: 0,
      max_cost_usd: 0,
      max_tokens: 4096,
    })
  })

  test('loads without warnings when it was written for the earlier implementation', async () => {
    await put(
      'old.yaml',
      [
        'name: old-hand',
        'role: Keeper',
        'model: anthropic:claude-haiku-4-5',
        'personality: { traits: [calm], style: dry }',
        'persona:',
        '  values: [order]',
        '  fears:',
        '  purpose: To keep',
        '  long_term_goals: [keep on]',
        '  risk_tolerance: 0.1',
        'max_steps: 7',
        'max_cost_usd: 0.5',
        'skills: [test_driven]',
        'tools: []',
        'workspace: ./workspaces/{name}',
        'autonomy: high',
        'system_prompt:',
      ].join('\n'),
    )
    expect(await use().get('old')).toMatchObject({
      name: 'old-hand',
      max_steps: 7,
      tools: [],
      workspace: './workspaces/{name}',
      autonomy: 'high',
      persona: { values: ['order'], fears: [], goals: ['keep on'], risk_tolerance: 0.1, happiness: 0.7 },
      system_prompt: '',
    })
    expect(warnings()).toEqual([])
  })

  test('may begin with a byte order mark', async () => {
    await put('bom.yaml', '\uFEFFrole: Marked')
    expect((await use().get('bom')).role).toBe('Marked')
  })

  test('is used in spite of unknown keys, with one warning and the line for each', async () => {
    await put('odd.yaml', 'role: Odd\nmax_step: 3\npersona:\n  purpose: x\n  mood: fine\n')
    for (let round = 0; round < 3; round++) await use().get('odd')
    await use().list()
    const sentences = [
      'profiles/odd.yaml:2: max_step is not a key of profiles and has no effect; did you mean max_steps?',
      'profiles/odd.yaml:5: persona.mood is not a key of profiles and has no effect',
    ]
    expect(warnings()).toEqual(sentences)
    const faults = (await kernel.config.faults(['nothing'])).map(({ path, message }) => `${path}: ${message}`)
    expect(faults).toEqual(sentences)
  })

  test('is read again after an edit, and not otherwise', async () => {
    await put('coder.yaml', 'max_steps: 10')
    const first = await use().get('coder')
    expect(await use().get('coder')).toBe(first)
    await put('coder.yaml', 'max_steps: 11')
    expect((await use().get('coder')).max_steps).toBe(11)
    await put('coder.yaml.new', 'max_steps: 12')
    const { mtime } = await stat(join(root, 'profiles/coder.yaml'))
    await utimes(join(root, 'profiles/coder.yaml.new'), mtime, mtime)
    await rename(join(root, 'profiles/coder.yaml.new'), join(root, 'profiles/coder.yaml'))
    expect((await use().get('coder')).max_steps).toBe(12)
  })

  test('may be a link inside the folder', async () => {
    await put('real.yaml', 'role: Real')
    await symlink('real.yaml', join(root, 'profiles/alias.yaml'))
    expect((await use().get('alias')).role).toBe('Real')
    await put('real.yaml', 'role: Changed')
    expect((await use().get('alias')).role).toBe('Changed')
  })
})

describe('a bad profile file', () => {
  const bad: [what: string, text: string | Buffer, sentence: RegExp][] = [
    ['a tab for indentation', 'persona:\n\tpurpose: x', /^profiles\/bad\.yaml:2: /],
    ['the same key twice', 'role: a\nrole: b', /^profiles\/bad\.yaml:2: .*unique/],
    ['an unknown tag', 'role: a\nname: !!js/function x', /^profiles\/bad\.yaml:2: /],
    ['no mapping', '- a\n- b', /^profiles\/bad\.yaml:1: is not a YAML mapping; write "key: value" lines/],
    ['a bare word', 'coder', /^profiles\/bad\.yaml:1: is not a YAML mapping/],
    [
      'a prototype',
      'role: a\n__proto__: { admin: true }',
      /^profiles\/bad\.yaml:2: the key "__proto__" is not allowed/,
    ],
    ['a name that is a path', 'role: a\nname: ../x', /^profiles\/bad\.yaml:2: name: must not be a path/],
    ['a name of several lines', 'name: "a\\nb"', /^profiles\/bad\.yaml:1: name: must not be a path/],
    ['a name with an escape', 'name: "a\\e[2J"', /^profiles\/bad\.yaml:1: name: must not be a path/],
    ['no steps', 'role: a\nmax_steps: 0', /^profiles\/bad\.yaml:2: max_steps: must be at least 1/],
    ['negative steps', 'max_steps: -1', /^profiles\/bad\.yaml:1: max_steps: must be at least 1/],
    [
      'steps as text',
      'role: a\n\nmax_steps: "20"',
      /^profiles\/bad\.yaml:3: max_steps: must be a number, not a string/,
    ],
    ['endless steps', 'max_steps: .inf', /:1: max_steps: /],
    ['steps that are no number', 'max_steps: .nan', /:1: max_steps: /],
    ['half a step', 'max_steps: 1.5', /:1: max_steps: must be a whole number/],
    ['a temperature of 3', 'temperature: 3', /:1: temperature: must be at most 2/],
    ['a negative cost', 'max_cost_usd: -1', /:1: max_cost_usd: must be at least 0/],
    ['an endless cost', 'max_cost_usd: 1e400', /:1: max_cost_usd: /],
    ['a persona that is no mapping', 'role: a\npersona: brave', /:2: persona: must be an object/],
    ['a value out of range', 'persona:\n  purpose: x\n  happiness: 7', /:3: persona\.happiness: must be at most 1/],
    ['old goals that are no list', 'persona:\n  long_term_goals: more', /:\d: persona\.goals: must be an array/],
    ['a list where text is due', 'role: [a]', /:1: role: must be a string, not an array/],
    ['an empty role', 'role: ""', /:1: role: /],
    [
      'a bomb of aliases',
      `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghi'
        .split('')
        .map((key, index) => `${key}: &${key} [${Array(9).fill(`*${'abcdefgh'[index]}`)}]`)
        .join('\n')}`,
      /^profiles\/bad\.yaml: .*alias/i,
    ],
    ['20,000 brackets', `role: ${'['.repeat(20_000)}`, /^profiles\/bad\.yaml/],
    ['five megabytes', `role: ${'x'.repeat(5_000_000)}`, /^profiles\/bad\.yaml: is larger than 1024 KiB; shorten it/],
    [
      'other than UTF-8',
      Buffer.from([0x72, 0x6f, 0x6c, 0x65, 0x3a, 0x20, 0xfc]),
      /^profiles\/bad\.yaml: is not UTF-8 text; save it/,
    ],
  ]
  test.each(bad)('is refused with its place and the fault: %s', async (_, text, sentence) => {
    await put('bad.yaml', text)
    const error = await refusal('bad')
    expect(error.message).toMatch(sentence)
    expect(error.message).not.toContain(root)
    expect(error.code).toBe('bad_file')
    expect((await use().list()).find(({ name }) => name === 'bad')).toMatchObject({
      profile: null,
      error: error.message,
    })
    expect((await use().get('coder')).max_steps).toBe(20)
  })

  test('is reported with all of its faults at once', async () => {
    await put('bad.yaml', 'max_steps: 0\ntemperature: 9\n')
    const error = await refusal('bad')
    expect(error.errors.map(({ path }) => path)).toEqual(['max_steps', 'temperature'])
    expect(error.message).toContain('temperature')
  })

  test('is refused when it is a link out of the folder, a link to nothing, or a folder', async () => {
    await writeFile(join(root, '.svc/outside.yaml'), 'role: Outside')
    await symlink('../.svc/outside.yaml', join(root, 'profiles/out.yaml'))
    await symlink('nowhere.yaml', join(root, 'profiles/lost.yaml'))
    await mkdir(join(root, 'profiles/folder.yaml'))
    expect((await refusal('out')).message).toBe(
      'profiles/out.yaml: is a link to a file outside its folder; copy the file here instead.',
    )
    expect((await refusal('lost')).message).toContain('is a link to a file that does not exist')
    expect((await refusal('folder')).message).toContain('is not a regular file')
  })

  test('is refused when another name differs only in case or extension, and the error names both', async () => {
    await put('chef.yaml', 'role: a')
    await put('Chef.yaml', 'role: b')
    await put('maid.yaml', 'role: a')
    await put('maid.yml', 'role: b')
    for (const name of ['chef', 'Chef']) {
      expect((await refusal(name)).message).toMatch(/profiles\/Chef\.yaml/)
      expect((await refusal(name)).message).toMatch(/profiles\/chef\.yaml/)
    }
    expect((await refusal('maid')).message).toMatch(/maid\.yaml.*maid\.yml|maid\.yml.*maid\.yaml/)
  })

  test('is listed with an error when its name is not allowed', async () => {
    await put('my coder.yaml', 'role: a')
    await put('_template.yaml', 'role: a')
    await put('.hidden.yaml', 'role: a')
    const mine = (await use().list()).filter(({ name }) => !PRESETS.includes(name))
    expect(mine).toMatchObject([{ name: 'my coder', error: expect.stringContaining('at most 64 letters') }])
  })
})

test.each([
  '../config',
  '..',
  '.',
  '',
  '/etc/passwd',
  'profiles/coder',
  'coder.yaml',
  'coder\0',
  'x'.repeat(5000),
  '%2e%2e/x',
])('the name %j is no profile, and no file is read for it', async name => {
  await writeFile(join(root, 'config.yaml'), 'role: Outside')
  const error = await refusal(name)
  expect(error).toMatchObject({ code: 'profile_not_found', status: 404 })
  expect(error.message).toContain('there are: coder, gambler')
})

describe('agents with a profile', () => {
  test('keep its last good copy while it is bad, with one warning per change', async () => {
    await put('coder.yaml', 'max_steps: 10')
    await use().get('coder')
    await put('coder.yaml', 'max_steps: none')
    for (let beat = 0; beat < 5; beat++) expect((await use().get('coder')).max_steps).toBe(10)
    expect(warnings()).toHaveLength(1)
    expect(warnings()[0]).toMatch(
      /last valid copy of profile "coder" stays in use: profiles\/coder\.yaml:1: max_steps: /,
    )
    await put('coder.yaml', 'max_steps: never')
    for (let beat = 0; beat < 5; beat++) expect((await use().get('coder')).max_steps).toBe(10)
    expect(warnings()).toHaveLength(2)
    await put('coder.yaml', 'max_steps: 12')
    expect((await use().get('coder')).max_steps).toBe(12)
    expect(warnings()).toHaveLength(2)
  })

  test('keep its last good copy when it is gone, or when a second file of that name appears', async () => {
    await put('cook.yaml', 'max_steps: 10')
    await use().get('cook')
    await put('Cook.yaml', 'max_steps: 11')
    for (let beat = 0; beat < 3; beat++) expect((await use().get('cook')).max_steps).toBe(10)
    await rm(join(root, 'profiles'), { recursive: true })
    for (let beat = 0; beat < 3; beat++) expect((await use().get('cook')).max_steps).toBe(10)
    expect(warnings()).toHaveLength(2)
  })

  test('cannot be started from a bad one', async () => {
    await put('coder.yaml', 'max_steps: 10')
    await use().get('coder')
    await put('coder.yaml', 'max_steps: 0')
    await expect(use().read('coder')).rejects.toMatchObject({ code: 'bad_file' })
  })

  test('see either the old or the new profile while it is edited repeatedly', async () => {
    await put('coder.yaml', 'max_steps: 1\ntemperature: 0.1')
    await use().get('coder')
    const seen = new Set<string>()
    for (let round = 1; round <= 100; round++) {
      const [, ...found] = await Promise.all([
        put('coder.yaml', `max_steps: ${round}\ntemperature: ${round / 100}`),
        use().get('coder'),
        use().get('coder'),
      ])
      for (const { max_steps } of found) seen.add(String(max_steps))
      expect((await use().get('coder')).max_steps).toBe(round)
    }
    expect(seen.size).toBeGreaterThan(1)
  })
})

describe('skill files in the earlier form', () => {
  const skillsOf = (...skills: string[]) => use().skills(Profile.parse({ name: 'p', role: 'r', skills }))

  test('are joined in order, with a warning each, and - equals _ in their names', async () => {
    await mkdir(join(root, 'skills'))
    await writeFile(join(root, 'skills/tdd.md'), '\n# Our own way\n')
    await writeFile(join(root, 'skills/two_words.md'), 'Two words.')
    expect(await skillsOf('two-words', 'tdd')).toBe('Two words.\n\n# Our own way')
    expect(warnings()).toHaveLength(2)
  })

  test('are left out with one warning when they are bad', async () => {
    await mkdir(join(root, 'skills'))
    await writeFile(join(root, 'skills/huge.md'), 'x'.repeat(70_000))
    for (let beat = 0; beat < 3; beat++) expect(await skillsOf('none', '../../etc/passwd', 'huge')).toBe('')
    expect(warnings()).toHaveLength(1)
  })
})

describe('profiles.list', () => {
  test('returns all presets, or one of them', async () => {
    await put('bad.yaml', 'max_steps: 0')
    const all = (await kernel.invoke('profiles.list')) as { name: string; error: string | null; profile: unknown }[]
    expect(all.map(({ name }) => name)).toEqual(['bad', ...PRESETS])
    expect(all[0]).toMatchObject({ profile: null, error: expect.stringContaining('profiles/bad.yaml:1: max_steps') })
    expect(await kernel.invoke('profiles.list', { name: 'oracle' })).toMatchObject([{ profile: { max_steps: 5 } }])
    await expect(kernel.invoke('profiles.list', { name: 'nobody' })).rejects.toMatchObject({ status: 404 })
  })

  test('renders all presets as a table, and one preset in full', async () => {
    await put('bad.yaml', 'max_steps: 0')
    const { render } = kernel.points.find(Operations, 'profiles.list')!
    const table = render!(await kernel.invoke('profiles.list')).split('\n')
    expect(table[0]).toMatch(/^NAME +STEPS +ROLE$/)
    expect(table[1]).toMatch(/^bad +not usable: profiles\/bad\.yaml:1/)
    expect(table).toHaveLength(PRESETS.length + 2)
    const one = render!(await kernel.invoke('profiles.list', { name: 'oracle' }))
    expect(one).toContain('You have few steps')
    expect(one).toMatch(/max_steps +5/)
    expect(one).toMatch(/fears +vagueness/)
  })
})

test('the package ships a file for every preset, and no other', async () => {
  const shipped = await readdir(new URL('../../../../profiles/', import.meta.url))
  expect(shipped.filter(name => name !== 'skills').sort()).toEqual(PRESETS.map(name => `${name}.yaml`))
})
