import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { IS_WHOLE } from '../support/vitest/trial-count.ts'
import { copyOfCheckout } from './checkout.ts'

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
