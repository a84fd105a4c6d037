import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { IS_WHOLE } from '../support/vitest/trial-count.ts'
import { copyOfCheckout, eventually } from './checkout.ts'

// Compiles all modules at once, which takes minutes.
it.runIf(IS_WHOLE)(
  'every module runs from its sources',
  async () => {
    await using checkout = await copyOfCheckout()
    const list = await readFile(new URL('../../builtins/index.ts', import.meta.url), 'utf8')
    const modules = [...list.matchAll(/'\.\/(.+\/index\.ts)'/g)].map(([, file]) => `builtins/${file}`)
    await Promise.all(modules.map(checkout.comment))
    await using service = await checkout.serve('--dev')
    const plugins = await service.plugins()
    expect(plugins.filter(({ error, state }) => error !== null || state !== 'live')).toEqual([])
    const built = plugins.filter(({ load_ms }) => load_ms === 0).map(({ name }) => name)
    // These two are run from the build, beside the modules.
    expect(built.sort()).toEqual(['cli', 'watchdog'])
    const { agent_id } = (await (await service.ask('/agents', { preset: 'coder' })).json()) as { agent_id: string }
    await service.running.waitForOutput(new RegExp(`"agent_id":"${agent_id}","msg":"completed`))
  },
  900_000,
)

it('an edited module becomes live, a broken one keeps its old version, and a needed restart is reported', async () => {
  await using checkout = await copyOfCheckout()
  {
    await using service = await checkout.serve('--dev')
    const { agent_id } = (await (await service.ask('/agents', { preset: 'coder' })).json()) as { agent_id: string }
    const world = await service.summaryOf('/world')
    const undo = await checkout.edit(
      'builtins/society/economy/operations.ts',
      'Show the world',
      'Show the edited world',
    )
    await checkout.edit('builtins/society/economy/operations.ts', "path: '/world'", "path: '/edited-world'")
    await eventually(async () => (await service.ask('/edited-world')).status === 200)
    expect((await service.ask('/world')).status).toBe(404)
    expect(await service.summaryOf('/edited-world')).toBe(world?.replace('the world', 'the edited world'))
    // Other modules use the new version: its errors are the program's own.
    expect((await service.ask('/agents/missing/world')).status).toBe(404)
    expect((await service.ask(`/agents/${agent_id}/world`)).status).toBe(200)
    expect((await service.plugins()).find(({ name }) => name === 'economy')).toMatchObject({
      origin: 'builtin',
      state: 'live',
      error: null,
    })

    await checkout.edit('builtins/society/economy/operations.ts', /^import/, 'importt')
    await eventually(async () => (await service.errorOf('economy')).includes('ParseError'))
    expect(await service.errorOf('economy')).toMatch(/\/builtins\/society\/economy\/operations\.ts:\d+\)/)
    expect((await service.ask('/edited-world')).status).toBe(200)
    // As built.
    await undo()
    await eventually(async () => (await service.ask('/world')).status === 200)
    expect(await service.errorOf('economy')).toBe('')

    await checkout.comment('builtins/platform/store/index.ts')
    await eventually(async () =>
      (await service.errorOf('store')).includes('"store" can be replaced only at a start; restart with: svc restart'),
    )
    const undoContract = await checkout.comment('builtins/society/swarm/contract.ts')
    const undoLibrary = await checkout.comment('builtins/lib/pluralize.ts')
    await eventually(async () => (await service.errorOf('swarm')).includes('contract.ts changed'))
    expect(await service.errorOf('swarm')).toContain('npm run build, then svc restart')
    await service.running.waitForOutput(
      /builtins\/lib\/pluralize\.ts changed, which the whole program uses; to apply the change: npm run build/,
    )
    expect((await service.cli('plugins')).stdout).toContain(
      'can be replaced only at a start; restart with: svc restart',
    )
    expect((await service.cli('doctor')).stdout.replace(/\s+/g, ' ')).toContain(
      '"store" can be replaced only at a start',
    )
    await undoContract()
    await undoLibrary()
    await eventually(async () => (await service.errorOf('swarm')) === '')
  }
  await using again = await checkout.serve('--dev')
  const store = (await again.plugins()).find(({ name }) => name === 'store')
  expect(store).toMatchObject({ state: 'live', error: null })
  expect(store?.load_ms).toBeGreaterThan(0)
  expect((await again.ask('/agents', { preset: 'coder' })).status).toBe(201)
}, 600_000)

it('--reload restarts the service for a module that changes at a start only, and for no other', async () => {
  await using checkout = await copyOfCheckout()
  await using service = await checkout.serve('--reload')
  await checkout.edit('builtins/society/economy/operations.ts', "path: '/world'", "path: '/edited-world'")
  await eventually(async () => (await service.ask('/edited-world')).status === 200)
  expect(service.starts()).toBe(1)
  await checkout.comment('builtins/interfaces/rest/index.ts')
  await eventually(() => service.starts() === 2)
  expect((await service.ask('/edited-world')).status).toBe(200)
  expect((await service.plugins()).find(({ name }) => name === 'rest')).toMatchObject({ error: null, state: 'live' })
}, 600_000)
