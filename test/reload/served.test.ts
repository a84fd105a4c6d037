import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { FAST, project } from '../cli/project.ts'
import { RunningSvc, until } from '../support/index.ts'
import { svc } from '../support/vitest/warm.ts'
import { source } from './sources.ts'

interface ListedPlugin {
  name: string
  state: string
  error: string | null
  swaps: number
}

/** A project whose service runs as in production: the built program, with the daemon, on a port. */
async function serving(words: readonly string[] = [], files: Readonly<Record<string, string>> = FAST) {
  const dir = await project(files)
  const running = new RunningSvc(['serve', '--with-daemon', '--port', '0', ...words], { cwd: dir.path })
  const [, url] = await running.waitForOutput(/^Dashboard: +(http:\/\/127\.0\.0\.1:\d+)\/$/m)
  const ask = async (method: string, path: string, body?: unknown) => {
    const json =
      body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
    const answer = await fetch(url + path, { method, ...json })
    return { status: answer.status, json: (await answer.json()) as never }
  }
  return {
    running,
    dir,
    ask,
    cli: (...given: string[]) => svc(given, { cwd: dir.path }),
    async plugin(name: string): Promise<ListedPlugin | undefined> {
      const { json } = await ask('GET', '/plugins')
      return (json as ListedPlugin[]).find(each => each.name === name)
    },
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]()
      await dir[Symbol.asyncDispose]()
    },
  }
}

/** A heartbeat so long that none occurs during the test. */
const SLOW = { '.svc/config.yaml': 'daemon:\n  heartbeat: 3600\nmodel:\n  sim_delay: 0\n' }
const weather = (sky: string, name = 'weather') =>
  source(
    name,
    `svc.operation({
       name: '${name}.today', summary: 'The weather of a city', input: z.object({ city: z.string() }), output: z.object({ sky: z.string() }),
       http: { method: 'GET', path: '/${name}/{city}' }, cli: { usage: '${name} <city>' }, run: ({ city }) => ({ sky: '${sky} in ' + city }),
     })`,
  )

it('a dropped file becomes live by itself, and the log says when and how to apply it sooner', async () => {
  await using home = await serving()
  await home.dir.write({ 'plugins/weather.ts': weather('sun') })
  await home.running.waitForOutput(/changed; live in about \d+ s, or now with: svc plugins reload weather/)
  await until(async () => (await home.plugin('weather'))?.state === 'live')
  expect((await home.ask('GET', '/weather/bonn')).json).toEqual({ sky: 'sun in bonn' })
})

it('a server without a daemon follows plugin files too', async () => {
  await using dir = await project(FAST)
  await using server = new RunningSvc(['serve', '--port', '0'], { cwd: dir.path })
  const [, url] = await server.waitForOutput(/^Dashboard: +(http:\/\/127\.0\.0\.1:\d+)\/$/m)
  await dir.write({ 'plugins/weather.ts': weather('sun') })
  await until(async () => (await fetch(`${url}/weather/bonn`)).status === 200)
  await rm(join(dir.path, 'plugins/weather.ts'))
  await until(async () => (await fetch(`${url}/weather/bonn`)).status === 404)
})

it('POST /plugins/reload and svc plugins reload apply at once; svc plugins and GET /plugins show errors with place', async () => {
  await using home = await serving([], SLOW)
  await home.dir.write({ 'plugins/weather.ts': weather('sun') })
  expect(await home.ask('POST', '/plugins/reload', {})).toMatchObject({
    status: 200,
    json: [{ plugin: 'weather', outcome: 'loaded', error: null }],
  })
  expect((await home.ask('GET', '/weather/bonn')).json).toEqual({ sky: 'sun in bonn' })

  await home.dir.write({ 'plugins/weather.ts': weather('rain') })
  expect(await home.cli('plugins', 'reload')).toMatchObject({ code: 0, stdout: 'weather: reloaded\n' })
  expect((await home.ask('GET', '/weather/bonn')).json).toEqual({ sky: 'rain in bonn' })
  expect((await home.cli('plugins', 'reload', 'plugins/weather.ts')).stdout).toBe('weather: reloaded\n')

  await home.dir.write({ 'plugins/weather.ts': `${weather('hail')}\nthrow new Error('no luck')` })
  const failed = await home.cli('plugins', 'reload', 'weather')
  expect(failed.code).toBe(1)
  // It stays failed, whether the heartbeat or this command applied the edit.
  expect(await home.cli('plugins', 'reload')).toMatchObject({ code: 1, stdout: failed.stdout })
  expect(failed.stdout).toMatch(/^weather: failed\n {2}Plugin "weather" \(.*plugins\/weather\.ts:\d+\): no luck\n$/)
  expect((await home.cli('plugins')).stdout).toMatch(/^weather +live .*\n(.|\n)*weather\.ts:\d+\): no luck/m)
  expect(await home.plugin('weather')).toMatchObject({
    state: 'live',
    swaps: 2,
    error: expect.stringContaining('no luck'),
  })
  expect((await home.ask('GET', '/weather/bonn')).json).toEqual({ sky: 'rain in bonn' })

  const unknown = await home.cli('plugins', 'reload', 'wether')
  expect(unknown).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('There is no plugin file "wether"; there are: weather'),
  })
  await rm(join(home.dir.path, 'plugins/weather.ts'))
  expect((await home.cli('plugins', 'reload')).stdout).toBe('weather: removed\n')
  expect((await home.ask('GET', '/weather/bonn')).status).toBe(404)
  expect((await home.cli('plugins', 'reload')).stdout).toBe('nothing changed\n')
})

it('a command is added and removed with its plugin', async () => {
  await using home = await serving([], SLOW)
  expect((await home.cli('weather', 'bonn')).code).toBe(2)
  await home.dir.write({ 'plugins/weather.ts': weather('sun') })
  await home.ask('POST', '/plugins/reload', {})
  expect(await home.cli('weather', 'bonn', '--json')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('sun in bonn'),
  })
  expect((await home.cli('help', '--all')).stdout).toMatch(/weather <city> +The weather of a city/)
  await rm(join(home.dir.path, 'plugins/weather.ts'))
  await home.ask('POST', '/plugins/reload', {})
  expect((await home.cli('help', '--all')).stdout).not.toMatch(/The weather of a city/)
  expect((await home.cli('weather', 'bonn')).code).toBe(2)
})

it('with --dev, a saved file becomes live without a request', async () => {
  await using home = await serving(['--dev'], SLOW)
  const sky = async () => (await home.ask('GET', '/weather/bonn')).json as { sky?: string }
  await home.dir.write({ 'plugins/weather.ts': weather('sun') })
  await until(async () => (await sky()).sky === 'sun in bonn')
  await home.dir.write({ 'plugins/weather.ts': weather('rain') })
  await until(async () => (await sky()).sky === 'rain in bonn')
  await home.dir.write({ 'plugins/weather.ts': 'export default 7' })
  await until(async () => (await home.plugin('weather'))?.error)
  expect(await sky()).toEqual({ sky: 'rain in bonn' })
  await home.dir.write({ '.svc/plugins/sea/index.ts': weather('waves', 'sea') })
  await until(async () => (await home.plugin('sea'))?.state === 'live')
  await rm(join(home.dir.path, 'plugins/weather.ts'))
  await until(async () => (await home.plugin('weather')) === undefined)
})

it('svc start accepts --dev too', async () => {
  await using dir = await project(SLOW)
  await using daemon = new RunningSvc(['start', '--dev'], { cwd: dir.path })
  await daemon.waitForOutput(/^Logs: /m)
  await dir.write({ 'plugins/weather.ts': weather('sun') })
  await daemon.waitForOutput(/loaded \(.*weather\.ts\)/)
})
