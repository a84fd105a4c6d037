import { createHash } from 'node:crypto'
import * as files from 'node:fs/promises'
import { lstat, lutimes, readdir, readFile, readlink, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { definePlugin, InvalidConfigError, z } from '#kernel'
import { identityOf } from '#lib/identity'
import { BadFileError } from '#lib/yaml'
import { memoryScheduler, runHeartbeat, type TestHost, testHost, until, waitUntilIdle } from '../support/index.ts'

interface Shop {
  greeting: string
  open: boolean
  limit: number
  key: string
  tags: string[]
  prices: Record<string, number>
}

const shape = z.object({
  greeting: z.string().default('hello').meta({ reload: 'applied', env: 'SHOP_GREETING' }),
  open: z.boolean().default(true).meta({ env: 'SHOP_OPEN' }),
  limit: z.number().int().min(1).default(3).meta({ reload: 'applied', env: 'SHOP_LIMIT' }),
  key: z.string().default('').meta({ secret: true }),
  tags: z.array(z.string()).default([]).meta({ env: 'SHOP_TAGS' }),
  prices: z.record(z.string(), z.number()).default({}),
})

let live: Shop
const shop = definePlugin({
  name: 'shop',
  config: shape,
  setup(_svc, config) {
    live = config
  },
})

const fileOf = (home: TestHost) => readFile(home.kernel.config.file, 'utf8')
const shopOf = (home: TestHost, view: 'persisted' | 'effective' | 'live') =>
  home.kernel.config.tree(view).shop as Partial<Shop>

it('the configuration has three views: persisted as written, effective with the environment, and live', async () => {
  const config = { shop: { limit: 5, key: 'hush-hush' } }
  await using home = await testHost({ builtins: [shop], config, env: { SHOP_GREETING: 'ahoy', SHOP_TAGS: 'a, b' } })
  expect(shopOf(home, 'persisted')).toEqual({ limit: 5, key: '***' })
  expect(shopOf(home, 'effective')).toEqual({
    greeting: 'ahoy',
    open: true,
    limit: 5,
    key: '***',
    tags: ['a', 'b'],
    prices: {},
  })
  expect(live).toEqual({ ...shopOf(home, 'effective'), key: 'hush-hush' })
})

it.each([
  ['SHOP_LIMIT', 'many', 'shop.limit'],
  ['SHOP_LIMIT', '0', 'shop.limit'],
  ['SHOP_LIMIT', '1.5', 'shop.limit'],
  ['SHOP_OPEN', 'maybe', 'shop.open'],
])('an invalid value in the environment is refused with the name of its variable: %s=%s', async (name, value) => {
  const opening = testHost({ builtins: [shop], env: { [name]: value } })
  await expect(opening).rejects.toBeInstanceOf(InvalidConfigError)
  await expect(opening).rejects.toThrow(`environment variable ${name}`)
})

it.each([
  ['1', true],
  ['yes', true],
  ['OFF', false],
  ['false', false],
])('the common words for yes and no are accepted as a boolean: SHOP_OPEN=%s', async (SHOP_OPEN, open) => {
  await using home = await testHost({ builtins: [shop], env: { SHOP_OPEN } })
  expect(shopOf(home, 'live').open).toBe(open)
})

it('an empty environment variable counts as unset', async () => {
  await using home = await testHost({
    builtins: [shop],
    config: { shop: { greeting: 'hi' } },
    env: { SHOP_GREETING: '' },
  })
  expect(shopOf(home, 'live').greeting).toBe('hi')
})

it('an invalid value in the file is refused with file, line and key', async () => {
  const opening = testHost({ builtins: [shop], config: '# my shop\nshop:\n  greeting: hi\n  limit: none\n' })
  await expect(opening).rejects.toThrow(/config\.yaml:4: shop\.limit: must be a number, not a string/)
})

it.each([
  ['a tab as indent', 'shop:\n\tlimit: 3\n', /config\.yaml:2: /],
  ['a key given twice', 'shop:\n  limit: 3\n  limit: 4\n', /config\.yaml:3: .*unique/],
  ['an unknown tag', 'shop:\n  limit: !number 3\n', /config\.yaml:2: .*tag/],
  ['no mapping', '- shop\n', /config\.yaml:1: is not a YAML mapping; write "key: value" lines/],
  ['a prototype', 'shop:\n  __proto__:\n    open: false\n', /the key "__proto__" is not allowed/],
  ['a constructor', 'constructor:\n  prototype: {}\n', /the key "constructor" is not allowed/],
  ['an alias bomb', `a: &a [${'x,'.repeat(50)}]\n${bomb(9)}`, /config\.yaml.*alias/i],
  ['too deep a nest', `${'a: {'.repeat(20_000)}${'}'.repeat(20_000)}\n`, /config\.yaml:1: is nested too deeply/],
  ['too deep a nest without end', `shop:\n  a: ${'['.repeat(50_000)}`, /config\.yaml:2: is nested too deeply/],
  ['too deep a list', `shop:\n${'- '.repeat(50_000)}`, /config\.yaml:2: is nested too deeply/],
  ['two documents', 'shop:\n  limit: 3\n---\nshop:\n  limit: 4\n', /config\.yaml:3: begins a second document/],
  ['an unclosed quote', 'shop:\n  greeting: "hi\n', /config\.yaml:\d: .*quote/],
])('a file with %s is refused with the file and the reason', async (_, config, reason) => {
  const opening = testHost({ builtins: [shop], config })
  await expect(opening).rejects.toBeInstanceOf(BadFileError)
  await expect(opening).rejects.toThrow(reason)
  expect(({} as { open?: boolean }).open).toBeUndefined()
})

it('a file that is too large or not UTF-8 is refused, and a byte order mark is skipped', async () => {
  await using home = await testHost({ builtins: [shop] })
  const { config } = home.kernel
  await writeFile(config.file, `shop:\n  greeting: ${'x'.repeat(1024 * 1024)}\n`)
  await expect(config.reload()).rejects.toThrow('is larger than 1 MiB')
  await writeFile(config.file, Buffer.from([0x61, 0x3a, 0xff, 0x0a]))
  await expect(config.reload()).rejects.toThrow('is not UTF-8 text')
  await writeFile(config.file, '\uFEFFshop:\n  limit: 4\n')
  await expect(config.reload()).resolves.toEqual(['shop.limit'])
})

it('infinity and not-a-number are refused as numbers', async () => {
  for (const limit of ['.inf', '.nan', '1e400']) {
    await expect(testHost({ builtins: [shop], config: `shop:\n  limit: ${limit}\n` })).rejects.toThrow(/shop\.limit/)
  }
})

it('an empty file and a missing one give the defaults', async () => {
  await using empty = await testHost({ builtins: [shop], config: '# nothing yet\n' })
  expect(shopOf(empty, 'live').limit).toBe(3)
  await using missing = await testHost({ builtins: [shop] })
  expect(shopOf(missing, 'persisted')).toBeUndefined()
})

it('an unknown key in the file is a warning with its line, and does not stop the start', async () => {
  const config = 'shop:\n  limit: 3\n  colour: red\ndaemon.heartbeat: 5\n'
  await using home = await testHost({ builtins: [shop], config })
  const warnings = home.log.filter(({ level }) => level === 40).map(({ msg }) => msg)
  expect(warnings).toEqual([
    expect.stringContaining('shop.colour: line 3: is not a known key'),
    expect.stringContaining('daemon.heartbeat: line 4: is not a known key'),
  ])
  expect(home.kernel.config.get('daemon.heartbeat')).toBe(10)
})

it('an edit that adds an unknown key is applied, with a warning', async () => {
  const leases = memoryScheduler()
  await using home = await testHost({ builtins: [shop, leases.plugin], config: { shop: { limit: 5 } } })
  const warnings = () => home.logged('is not a known key')
  await waitUntilIdle(home)
  await home.write({ '.svc/config.yaml': 'shop:\n  limt: 5\n' })
  await runHeartbeat(home)
  await until(() => warnings().length > 0)
  for (let more = 2; more > 0; more--) await runHeartbeat(home)
  expect(live.limit).toBe(3)
  expect(warnings()).toEqual([
    expect.objectContaining({
      level: 40,
      msg: `${home.kernel.config.file}: shop.limt: line 2: is not a known key; did you mean "shop.limit"?`,
    }),
  ])
})

it('two plugins cannot own one key', async () => {
  const rival = definePlugin({
    name: 'rival',
    setup: svc => void svc.section('shop', z.object({ limit: z.number().default(1) })),
  })
  await using home = await testHost({ builtins: [shop] })
  await expect(home.kernel.host.add(rival)).rejects.toThrow(
    '"rival" adds the key shop.limit, but "shop" already defines it.',
  )
})

it('a patch keeps comments and order, returns how each key is applied, and shows in the persisted view at once', async () => {
  const config = '# my shop\nshop:\n  # as many as fit\n  limit: 3 # a few\n  open: true\n'
  await using home = await testHost({ builtins: [shop], config })
  await expect(home.kernel.config.patch({ shop: { limit: 4, open: false } })).resolves.toEqual({
    'shop.limit': 'applied',
    'shop.open': 'restart_required',
  })
  expect(await fileOf(home)).toBe(config.replace('limit: 3', 'limit: 4').replace('open: true', 'open: false'))
  expect(shopOf(home, 'persisted')).toEqual({ limit: 4, open: false })
  expect(shopOf(home, 'effective')).toMatchObject({ limit: 4, open: false })
  expect(shopOf(home, 'live')).toMatchObject({ limit: 3, open: true })
})

it('a patch that changes nothing writes nothing', async () => {
  await using home = await testHost({ builtins: [shop], config: { shop: { limit: 4, key: 'hush-hush' } } })
  const before = await stat(home.kernel.config.file)
  const { config } = home.kernel
  for (const patch of [{}, { shop: {} }, { shop: { limit: 4 } }, { shop: { key: '***' } }]) {
    await expect(config.patch(patch)).resolves.toEqual({})
  }
  const after = await stat(home.kernel.config.file)
  expect([after.ino, after.mtimeMs]).toEqual([before.ino, before.mtimeMs])
})

it.each([
  ['a value out of range', { shop: { limit: 0 } }, /shop\.limit/],
  ['a number as text', { shop: { limit: '4' } }, /shop\.limit/],
  ['null', { shop: { limit: null } }, /shop\.limit/],
  ['infinity', { shop: { limit: Number.POSITIVE_INFINITY } }, /shop\.limit/],
  ['a value for a section', { shop: 7 }, /shop: is a section: it takes a mapping of keys/],
  ['a list for a section', { shop: [] }, /shop: is a section: it takes a mapping of keys/],
  ['an unknown key', { shop: { colour: 'red' } }, /shop\.colour: is not a known key/],
  ['a dotted name', { 'shop.limit': 4 }, /shop\.limit: is not a known key/],
  ['something below a value', { shop: { limit: { deep: 4 } } }, /shop\.limit/],
  ['a prototype', JSON.parse('{"__proto__":{"limit":4}}'), /__proto__.* is not a known key/],
  ['a prototype in a section', JSON.parse('{"shop":{"__proto__":{"open":false}}}'), /__proto__.* is not a known key/],
  [
    'a prototype in a record',
    JSON.parse('{"shop":{"prices":{"__proto__":{"x":1}}}}'),
    /__proto__.* is not a known key/,
  ],
  ['a constructor', { constructor: { prototype: { open: false } } }, /constructor.* is not a known key/],
  ['one good and one bad value', { shop: { greeting: 'hi', limit: 0 } }, /shop\.limit/],
])('a patch with %s is refused and leaves the file unchanged', async (_, patch, reason) => {
  const config = 'shop:\n  limit: 3\n'
  await using home = await testHost({ builtins: [shop], config })
  const refused = home.kernel.config.patch(patch)
  await expect(refused).rejects.toMatchObject({ code: 'invalid_config', status: 400 })
  await expect(refused).rejects.toThrow(reason)
  expect(await fileOf(home)).toBe(config)
  expect(({} as { open?: boolean; x?: number }).open).toBeUndefined()
})

it('a patch may fill a section that is empty in the file', async () => {
  await using home = await testHost({ builtins: [shop], config: '# a shop to be\nshop:\n' })
  await home.kernel.config.patch({ shop: { limit: 4, prices: { 'gpt-4.1': 2 } } })
  expect(shopOf(home, 'persisted')).toEqual({ limit: 4, prices: { 'gpt-4.1': 2 } })
  await using again = await testHost({ builtins: [shop], root: home.root })
  expect(shopOf(again, 'live')).toMatchObject({ limit: 4, prices: { 'gpt-4.1': 2 } })
})

it('a patch writes null as null, also as the only key of its section, and keeps the comment of the old value', async () => {
  const rest = definePlugin({
    name: 'rest',
    config: z.object({ days: z.array(z.string()).nullable().default([]), hours: z.number().nullable().default(0) }),
    setup() {},
  })
  await using home = await testHost({ builtins: [rest], config: 'rest:\n  days: [sunday]\n' })
  await home.kernel.config.patch({ rest: { days: null } })
  expect(await fileOf(home)).toBe('rest:\n  days: null\n')
  await using other = await testHost({ builtins: [rest], config: 'rest:\n  hours: 8 # a day\n' })
  await other.kernel.config.patch({ rest: { hours: null } })
  expect(await fileOf(other)).toBe('rest:\n  hours: null # a day\n')
})

it('a patch to a broken file is refused with the line and leaves the file unchanged', async () => {
  await using home = await testHost({ builtins: [shop], config: 'shop:\n  limit: 3\n' })
  const broken = 'shop:\n  limit: [3\n'
  await home.write({ '.svc/config.yaml': broken })
  await expect(home.kernel.config.patch({ shop: { limit: 4 } })).rejects.toThrow(/config\.yaml:\d/)
  expect(await fileOf(home)).toBe(broken)
})

it('a patch keeps what was edited by hand since the start', async () => {
  await using home = await testHost({ builtins: [shop], config: 'shop:\n  limit: 3\n' })
  await home.write({ '.svc/config.yaml': 'shop:\n  limit: 3\n  greeting: by hand\n' })
  await home.kernel.config.patch({ shop: { limit: 4 } })
  expect(await fileOf(home)).toBe('shop:\n  limit: 4\n  greeting: by hand\n')
})

it('twenty patches at the same time are all written', async () => {
  await using home = await testHost({ builtins: [shop] })
  const names = Array.from({ length: 20 }, (_, n) => `item${n}`)
  await Promise.all(names.map((name, n) => home.kernel.config.patch({ shop: { prices: { [name]: n } } })))
  await home.kernel.config.patch({ shop: { limit: 20 } })
  expect(shopOf(home, 'persisted').prices).toEqual(Object.fromEntries(names.map((name, n) => [name, n])))
})

it('a patch keeps the indentation, long lines and the order of keys', async () => {
  const long = `words ${'and more words '.repeat(20)}end`
  const config = `shop:\n    tags: [ a,   b ]\n    greeting: ${long}\n    limit: 3\n`
  await using home = await testHost({ builtins: [shop], config })
  await home.kernel.config.patch({ shop: { limit: 4, open: false } })
  expect(await fileOf(home)).toBe(`shop:\n    tags: [ a, b ]\n    greeting: ${long}\n    limit: 4\n    open: false\n`)
})

it('a patch is refused when a YAML anchor would change another place too', async () => {
  const config = 'shop: &ours\n  limit: 3\nplugins:\n  config:\n    twin: *ours\n'
  await using home = await testHost({ builtins: [shop], config })
  await expect(home.kernel.config.patch({ shop: { limit: 4 } })).rejects.toThrow(
    /without changing other values; edit it by hand/,
  )
  expect(await fileOf(home)).toBe(config)
})

it('unset removes a key from the file, and its section when that becomes empty', async () => {
  await using home = await testHost({
    builtins: [shop],
    config: '# ours\n\nshop:\n  limit: 3\n  # why\n  open: false\nseed: 1\n',
  })
  await expect(home.kernel.config.unset('shop.open')).resolves.toEqual({ 'shop.open': 'restart_required' })
  await expect(home.kernel.config.unset('shop.open')).resolves.toEqual({})
  await home.kernel.config.unset('shop.limit')
  expect(await fileOf(home)).toBe('# ours\n\nseed: 1\n')
  await expect(home.kernel.config.unset('shop.lmit')).rejects.toThrow('did you mean "shop.limit"?')
})

it('a configuration file that is a symbolic link stays one', async () => {
  await using home = await testHost({ builtins: [shop], config: 'shop:\n  limit: 3\n' })
  const { file } = home.kernel.config
  await rename(file, join(home.root, 'elsewhere.yaml'))
  await symlink(join('..', 'elsewhere.yaml'), file)
  await home.kernel.config.patch({ shop: { limit: 4 } })
  expect((await lstat(file)).isSymbolicLink()).toBe(true)
  expect(await readFile(join(home.root, 'elsewhere.yaml'), 'utf8')).toBe('shop:\n  limit: 4\n')
})

it('a full disk is reported, the file stays unchanged, and no temporary file is left beside it', async () => {
  const full = () => Promise.reject(Object.assign(new Error('no space left'), { code: 'ENOSPC' }))
  const config = 'shop:\n  limit: 3\n'
  await using home = await testHost({ builtins: [shop], config, ports: { files: { ...files, rename: full } } })
  const refused = home.kernel.config.patch({ shop: { limit: 4 } })
  await expect(refused).rejects.toMatchObject({ code: 'disk_full', status: 503 })
  await expect(refused).rejects.toThrow(
    'The disk that contains .svc/config.yaml is full; free some space and try again.',
  )
  expect(await fileOf(home)).toBe(config)
  expect((await readdir(home.kernel.project.svc)).filter(name => name.startsWith('config'))).toEqual(['config.yaml'])
})

it('a disk that fails is an error of the server, not of the request', async () => {
  const broken = () => Promise.reject(Object.assign(new Error('i/o error'), { code: 'EIO' }))
  await using home = await testHost({ builtins: [shop], ports: { files: { ...files, rename: broken } } })
  await expect(home.kernel.config.patch({ shop: { limit: 4 } })).rejects.toMatchObject({
    code: 'disk_failed',
    status: 503,
    message:
      'The disk that contains .svc/config.yaml failed (EIO); nothing was written. Check the disk, and whether a quota is used up.',
  })
})

it('text from the command line is parsed as the type of its key', async () => {
  await using home = await testHost({ builtins: [shop] })
  const { config } = home.kernel
  expect(config.parseText('shop.greeting', '5')).toBe('5')
  expect(config.parseText('shop.limit', '5')).toBe(5)
  expect(config.parseText('shop.limit', 'five')).toBe('five')
  expect(config.parseText('shop.open', 'off')).toBe(false)
  expect(config.parseText('shop.tags', 'a, b')).toEqual(['a', 'b'])
  expect(config.parseText('shop.tags', '[a, "b, c"]')).toEqual(['a', 'b, c'])
  expect(config.parseText('shop.tags', '')).toEqual([])
  expect(config.parseText('shop.prices', '{ tea: 2 }')).toEqual({ tea: 2 })
  expect(config.parseText('shop.prices.gpt-4.1', '2.5')).toBe(2.5)
  expect(config.parseText('seed', 'null')).toBe(null)
  expect(() => config.parseText('shop.colour', 'red')).toThrow('is not a key of the configuration')
})

describe('a lock file that was left behind', () => {
  const shortHash = (text: string) => createHash('sha256').update(text).digest('base64url').slice(0, 8)
  const lockContent = (identity: string, place: string, pid = 2 ** 22 - 1) =>
    JSON.stringify({ pid, process: shortHash(identity), place: shortHash(place) })
  const lockOf = (home: TestHost) => `${home.kernel.config.file}.lock`

  it('of a dead process is removed, and patches are written', async () => {
    await using home = await testHost({ builtins: [shop] })
    const namespace = await readlinkOrNothing('/proc/self/ns/pid')
    await symlink(lockContent('gone', `${hostname()} ${namespace}`), lockOf(home))
    await Promise.all([1, 2, 3].map(limit => home.kernel.config.patch({ shop: { limit } })))
    expect(await readdir(home.kernel.project.svc)).not.toContain('config.yaml.lock')
  })

  it.each([
    ['of another machine', (file: string) => symlink(lockContent('elsewhere', 'another machine'), file)],
    ['that is a file, whose holder had not written its name', (file: string) => writeFile(file, '')],
  ])('%s expires after a while', async (_, leave) => {
    await using home = await testHost({ builtins: [shop], clock: 'system' })
    await leave(lockOf(home))
    const before = Date.now() / 1000 - 60
    await lutimes(lockOf(home), before, before)
    await home.kernel.config.patch({ shop: { limit: 4 } })
    expect(shopOf(home, 'persisted').limit).toBe(4)
  })

  it('is removed also when the process that was breaking it has been killed', async () => {
    await using home = await testHost({ builtins: [shop] })
    const namespace = await readlinkOrNothing('/proc/self/ns/pid')
    for (const file of [lockOf(home), `${lockOf(home)}.break`]) {
      await symlink(lockContent('gone', `${hostname()} ${namespace}`), file)
    }
    await home.kernel.config.patch({ shop: { limit: 4 } })
    expect((await readdir(home.kernel.project.svc)).filter(name => name.includes('lock'))).toEqual([])
  })

  it('is removed also as a plain file, where the file system has no symbolic links', async () => {
    const symlink = async () => Promise.reject(Object.assign(new Error('no links here'), { code: 'EPERM' }))
    await using home = await testHost({ builtins: [shop], ports: { files: { ...files, symlink } } })
    const namespace = await readlinkOrNothing('/proc/self/ns/pid')
    await writeFile(lockOf(home), lockContent('gone', `${hostname()} ${namespace}`))
    await Promise.all([1, 2, 3].map(limit => home.kernel.config.patch({ shop: { limit } })))
    expect(await readdir(home.kernel.project.svc)).not.toContain('config.yaml.lock')
  })

  it('is not removed while its process runs: a patch waits, and then fails with file_locked', async () => {
    await using home = await testHost({ builtins: [shop] })
    const identity = (await identityOf(home.kernel.ports, process.pid))!
    const place = `${hostname()} ${await readlinkOrNothing('/proc/self/ns/pid')}`
    const held = lockContent(identity, place, process.pid)
    expect(held.length).toBeLessThan(60)
    await symlink(held, lockOf(home))
    let refused: unknown
    const patched = home.kernel.config.patch({ shop: { limit: 4 } }).catch(error => {
      refused = error
    })
    await until(async () => {
      await home.clock.advance(100)
      return refused
    })
    await patched
    expect(refused).toMatchObject({ code: 'file_locked', status: 503, retryAfter: 1 })
    expect(await readlink(lockOf(home))).toBe(held)
  })
})

it('a refused patch does not block the next one', async () => {
  await using home = await testHost({ builtins: [shop] })
  const [bad, good] = await Promise.allSettled([
    home.kernel.config.patch({ shop: { limit: 0 } }),
    home.kernel.config.patch({ shop: { limit: 4 } }),
  ])
  expect([bad.status, good.status]).toEqual(['rejected', 'fulfilled'])
})

it('the written file is readable by its owner only', async () => {
  await using home = await testHost({ builtins: [shop] })
  await home.kernel.config.patch({ shop: { key: 'hush-hush' } })
  expect((await stat(home.kernel.config.file)).mode & 0o777).toBe(0o600)
})

it('an edit of the file applies at the next heartbeat, but only for keys that may change while running', async () => {
  const leases = memoryScheduler()
  await using home = await testHost({ builtins: [shop, leases.plugin], config: { shop: { limit: 3 } } })
  await home.write({ '.svc/config.yaml': 'shop:\n  limit: 7\n  open: false\n' })
  const changed = until(home, 'config_changed')
  await runHeartbeat(home)
  await expect(changed).resolves.toEqual({ keys: ['shop.limit'] })
  expect({ ...live }).toMatchObject({ limit: 7, open: true })
  expect(shopOf(home, 'effective')).toMatchObject({ limit: 7, open: false })
})

it('the environment overrides an edited file', async () => {
  await using home = await testHost({ builtins: [shop], env: { SHOP_LIMIT: '9' } })
  await home.write({ '.svc/config.yaml': 'shop:\n  limit: 7\n' })
  await expect(home.kernel.config.reload()).resolves.toEqual([])
  expect(live.limit).toBe(9)
  expect(shopOf(home, 'persisted').limit).toBe(7)
})

it.each([
  ['broken YAML', 'shop:\n  limit: [\n', /config\.yaml:\d/],
  ['a bad value', 'shop:\n  limit: 0\n', /config\.yaml:2: shop\.limit/],
  ['nothing in it', '', /is gone or empty/],
])('an edit that leaves %s keeps the last good configuration and warns once', async (_, edited, reason) => {
  const leases = memoryScheduler()
  await using home = await testHost({ builtins: [shop, leases.plugin], config: { shop: { limit: 5 } } })
  const complaints = () => home.logged('the last good configuration stays in force')
  // Otherwise the first heartbeat could read the file while it is being written: empty.
  await waitUntilIdle(home)
  await home.write({ '.svc/config.yaml': edited })
  await runHeartbeat(home)
  await until(() => complaints().length > 0)
  for (let more = 3; more > 0; more--) await runHeartbeat(home)
  expect(complaints()).toHaveLength(1)
  expect(complaints()[0]?.msg).toMatch(reason)
  expect(live.limit).toBe(5)

  await home.write({ '.svc/config.yaml': 'shop:\n  limit: 6\n' })
  await runHeartbeat(home)
  await until(() => live.limit === 6)
  await home.write({ '.svc/config.yaml': edited })
  await runHeartbeat(home)
  await until(() => complaints().length > 1)
  expect(live.limit).toBe(6)
})

it('removing the file keeps the last good configuration', async () => {
  await using home = await testHost({ builtins: [shop], config: { shop: { limit: 5 } } })
  await rm(home.kernel.config.file)
  await expect(home.kernel.config.reload()).rejects.toThrow(/is gone or empty; restore it/)
  await expect(home.kernel.config.reload()).resolves.toEqual([])
  expect(live.limit).toBe(5)
})

it('each key has an owner, a reload class, a default, a variable and a schema', async () => {
  await using home = await testHost({ builtins: [shop] })
  const keys = new Map(home.kernel.config.keys().map(key => [key.path, key]))
  expect(keys.get('shop.limit')).toMatchObject({
    owner: 'shop',
    reload: 'applied',
    env: 'SHOP_LIMIT',
    default: 3,
    schema: { type: 'integer', minimum: 1 },
  })
  expect(keys.get('shop.open')).toMatchObject({ reload: 'restart_required' })
  expect(keys.get('daemon.heartbeat')).toMatchObject({ owner: 'kernel', env: 'SVC_HEARTBEAT', default: 10 })
})

it('a secret never reaches the log: not while plugins start, not after it was changed, not in quotes', async () => {
  const secret = 'hush "hush"'
  const tell = `the key is ${secret}, and the token is sk-abcdefgh or sk-abcdefgh-more`
  const teller = definePlugin({ name: 'teller', setup: svc => svc.log.info({ key: secret }, tell) })
  await using home = await testHost({
    builtins: [shop, teller],
    config: { shop: { key: secret } },
    env: { ACME_API_KEY: 'sk-abcdefgh', OTHER_API_KEY: 'sk-abcdefgh-more' },
  })
  await home.kernel.config.patch({ shop: { key: 'another' } })
  home.kernel.log.info(tell)
  expect(home.logged('the key is').map(({ key, msg }) => [key, msg])).toEqual([
    ['***', 'the key is ***, and the token is *** or ***'],
    [undefined, 'the key is ***, and the token is *** or ***'],
  ])
})

it("a plugin's keys are removed together with it", async () => {
  await using home = await testHost({ builtins: [shop] })
  await home.kernel.host.remove('shop')
  expect(home.kernel.config.get('shop.limit')).toBeUndefined()
  await expect(home.kernel.config.patch({ shop: { limit: 4 } })).rejects.toThrow(/shop\.limit: is not a known key/)
})

it('the kernel gives the path of the configuration file', async () => {
  await using home = await testHost()
  expect(home.kernel.config.file).toBe(join(home.root, '.svc', 'config.yaml'))
})

async function readlinkOrNothing(path: string): Promise<string> {
  return readlink(path).catch(() => '')
}

function bomb(levels: number): string {
  const names = 'abcdefghijklmnop'
  return Array.from({ length: levels }, (_, n) => {
    const above = names[n]
    return `${names[n + 1]}: &${names[n + 1]} [${Array(10).fill(`*${above}`).join(',')}]\n`
  }).join('')
}
