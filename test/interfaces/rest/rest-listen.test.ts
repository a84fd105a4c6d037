import { mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { Agent, get } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Rest } from '#interfaces/rest/contract'
import { definePlugin, z } from '../../../kernel/index.ts'
import { ask, startRestServer } from './rest-server.ts'

const greeter = definePlugin({
  name: 'greeter',
  setup(svc) {
    svc.operation({
      name: 'hello.say',
      summary: 'Say hello',
      input: z.object({}),
      output: z.string(),
      http: { method: 'GET', path: '/hello' },
      run: () => 'hello',
    })
    svc.operation({
      name: 'hello.never',
      summary: 'Take for ever',
      input: z.object({}),
      output: z.null(),
      http: { method: 'GET', path: '/never' },
      run: () => new Promise<never>(() => {}),
    })
    svc.operation({
      name: 'hello.later',
      summary: 'Say hello in a minute',
      input: z.object({}),
      output: z.string(),
      http: { method: 'GET', path: '/later' },
      async run(_input, { signal }) {
        await svc.clock.sleep(60_000, signal)
        signal.throwIfAborted()
        return 'hello'
      },
    })
  },
})

describe('a port', () => {
  it('is chosen by the system when it is 0, and shown in the URL', async () => {
    const { url, ask } = await startRestServer({ plugins: [greeter] })
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect((await ask('/hello')).json).toBe('hello')
  })

  it('is named in the error when it is in use, with what to do', async () => {
    const { kernel, port } = await startRestServer()
    const error = await kernel
      .use(Rest)
      .listen({ host: '127.0.0.1', port })
      .catch(error => error)
    expect(error.message).toBe(`The port ${port} is in use; choose another with --port.`)
    expect([error.code, error.exit]).toEqual(['port_in_use', 1])
  })

  it.each([-1, 65_536, 99_999, 1.5])('causes a usage error when it is invalid: %s', async port => {
    const { kernel } = await startRestServer()
    const error = await kernel
      .use(Rest)
      .listen({ host: '127.0.0.1', port })
      .catch(error => error)
    expect([error.exit, error.message]).toEqual([2, expect.stringContaining('0 to 65535')])
  })

  it('is served at localhost, on IPv6, and at several hosts at once', async () => {
    const { kernel } = await startRestServer({ plugins: [greeter] })
    for (const host of ['localhost', '127.0.0.1', '::1', '127.1']) {
      const { url } = await kernel.use(Rest).listen({ host, port: 0 })
      expect(await (await fetch(`${url}/hello`)).json(), host).toBe('hello')
    }
  })
})

describe('an address that others can reach', () => {
  it.each(['0.0.0.0', '::', '', '0', '127.0.0.2', '0.0.0.0 ', '::ffff:0.0.0.0'])(
    'is refused without a key, before the port is open: "%s"',
    async host => {
      for (const env of [{}, { SVC_API_KEY: '  ' }]) {
        const error = await startRestServer({ env, at: { host, port: 0 } }).catch(error => error)
        expect(error.message).toMatch(/server\.api_key.*SVC_API_KEY|the host name cannot be resolved/)
        if (host === '127.0.0.2') expect(error.message).toContain('The host "127.0.0.2" needs a key: ')
        expect(error.exit).toBe(1)
      }
    },
  )

  it('keeps idle connections open for longer than proxies and clients do', async () => {
    const { url } = await startRestServer({ plugins: [greeter] })
    expect((await fetch(`${url}/hello`)).headers.get('keep-alive')).toBe('timeout=75')
  })

  it('is served with a key, under any host name', async () => {
    const { ask, url } = await startRestServer({
      plugins: [greeter],
      env: { SVC_API_KEY: 'k' },
      at: { host: '0.0.0.0', port: 0 },
    })
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect((await ask('/hello')).status).toBe(401)
    expect((await ask('/hello', { headers: { 'x-svc-key': 'k', host: 'svc.lan' } })).json).toBe('hello')
  })

  it('is served without a key if SVC_API_ALLOW_INSECURE is set, with a warning', async () => {
    const fixture = await startRestServer({
      plugins: [greeter],
      env: { SVC_API_ALLOW_INSECURE: '1' },
      at: { host: '0.0.0.0', port: 0 },
    })
    expect((await fixture.ask('/hello')).json).toBe('hello')
    expect(fixture.log.join('')).toContain('without a key')
  })

  it('is named in the error when there is no such host', async () => {
    const error = await startRestServer({ at: { host: 'no-such-host.invalid', port: 0 } }).catch(error => error)
    expect(error.message).toContain('no-such-host.invalid')
  })
})

describe('a unix socket', () => {
  const startSocketServer = async (env: Record<string, string> = {}) => {
    const fixture = await startRestServer({ plugins: [greeter], env })
    await mkdir(fixture.kernel.project.svc, { recursive: true })
    const path = join(fixture.kernel.project.svc, 'daemon.sock')
    return { ...fixture, path, listen: () => fixture.kernel.use(Rest).listen({ socket: path }) }
  }

  it('serves the same app, to its owner only', async () => {
    const { path, listen, kernel } = await startSocketServer()
    const { url } = await listen()
    expect(url).toBe(`unix:${path}`)
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect((await ask({ socketPath: path, path: '/hello' })).json).toBe('hello')
    expect((await readdir(kernel.project.svc)).filter(name => name.includes('sock'))).toEqual(['daemon.sock'])
  })

  it('needs neither key nor Host, but still refuses web pages', async () => {
    const { path, listen } = await startSocketServer({ SVC_API_KEY: 'k' })
    await listen()
    expect((await ask({ socketPath: path, path: '/hello', headers: { host: 'daemon' } })).json).toBe('hello')
    const headers = { origin: 'https://evil.example' }
    expect((await ask({ socketPath: path, path: '/hello', method: 'POST', headers })).status).toBe(403)
  })

  it('replaces a file that was left behind, and is deleted when closed', async () => {
    const { path, listen } = await startSocketServer()
    await writeFile(path, '')
    const first = await listen()
    expect((await ask({ socketPath: path, path: '/hello' })).json).toBe('hello')
    await first.close()
    await expect(stat(path)).rejects.toThrow('ENOENT')
    const second = await listen()
    expect((await ask({ socketPath: path, path: '/hello' })).json).toBe('hello')
    await second.close()
  })

  it('is not taken from a process that listens on it', async () => {
    const { path, listen } = await startSocketServer()
    await listen()
    await expect(listen()).rejects.toThrow('another process listens there')
    expect((await ask({ socketPath: path, path: '/hello' })).json).toBe('hello')
  })

  it('is refused when its path is longer than the system allows', async () => {
    const { kernel, root } = await startSocketServer()
    const path = join(root, 'x'.repeat(108 - Buffer.byteLength(root) - 1))
    expect(Buffer.byteLength(path)).toBe(108)
    await expect(kernel.use(Rest).listen({ socket: path })).rejects.toThrow('more than 107 bytes')
    const { close } = await kernel.use(Rest).listen({ socket: path.slice(0, -1) })
    expect((await ask({ socketPath: path.slice(0, -1), path: '/hello' })).json).toBe('hello')
    await close()
  })
})

describe('closing a listener', () => {
  it('does not wait for connections that are kept open', async () => {
    const { listening, port } = await startRestServer({ plugins: [greeter] })
    const agent = new Agent({ keepAlive: true })
    onTestFinished(() => agent.destroy())
    const say = () =>
      new Promise(resolve => get({ port, agent, path: '/hello' }, answer => answer.resume().on('end', resolve)))
    await Promise.all(Array.from({ length: 20 }, say))
    const idle = await new Promise<Socket>(resolve => {
      const socket = connect(port, '127.0.0.1', () => resolve(socket))
      socket.on('error', () => {})
    })
    await listening.close()
    idle.destroy()
    await expect(fetch(`http://127.0.0.1:${port}/hello`)).rejects.toThrow()
  })

  it('does not wait for a request that never ends', async () => {
    const { kernel, port, ask } = await startRestServer({ plugins: [greeter] })
    const never = fetch(`http://127.0.0.1:${port}/never`).catch(() => 'cut off')
    await ask('/hello')
    await kernel.close()
    expect(await never).toBe('cut off')
  })

  it('aborts requests in progress, and answers them with the reason', async () => {
    const { listening, ask } = await startRestServer({ plugins: [greeter] })
    const later = ask('/later')
    await ask('/hello')
    await listening.close()
    const { status, json, headers } = await later
    expect([status, json.code, headers['retry-after']]).toEqual([503, 'server_stopping', '1'])
  })

  it('has no further effect the second time, and frees the port', async () => {
    const { kernel, listening, port } = await startRestServer()
    await Promise.all([listening.close(), listening.close()])
    const again = await kernel.use(Rest).listen({ host: '127.0.0.1', port })
    expect(again.url).toBe(listening.url)
  })

  it('happens when the kernel that listens is closed', async () => {
    const { kernel, port } = await startRestServer()
    await kernel.close()
    await expect(fetch(`http://127.0.0.1:${port}/healthz`)).rejects.toThrow()
  })
})
