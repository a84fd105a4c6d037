import type { LookupAddress } from 'node:dns'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { definePlugin } from '#kernel'
import { GuardedFetch } from '#safety/net/contract'
import { Guard, type Resolve } from '#safety/net/guard'
import net from '#safety/net/index'
import { testHost } from '../../support/index.ts'

let canary: Server
let port = 0
let hits = 0
let answer: RequestListener = (_request, response) => response.end('the canary')

beforeAll(async () => {
  canary = createServer((request, response) => answer(request, response))
  canary.on('connection', () => hits++)
  // Listens on every address of the machine, to notice any request that gets through.
  await new Promise<void>(listening => canary.listen(0, '::', listening))
  port = (canary.address() as AddressInfo).port
})
afterAll(() => new Promise(closed => canary.close(closed)))

/** Creates a test host with the network guard and a resolver of the test. */
async function networkGuard(
  resolve: Resolve,
  config: { web_allow?: string[]; web_deny?: string[]; free?: string[] } = {},
) {
  const { web_allow = [], web_deny = [], free = [] } = config
  const plugin = definePlugin({
    name: 'net',
    setup(svc) {
      svc.provide(GuardedFetch, new Guard(svc, { web_allow, web_deny, web_allow_private: free }, resolve))
    },
  })
  const home = await testHost({ builtins: [plugin], clock: 'system' })
  return Object.assign(home, { guard: home.kernel.use(GuardedFetch) })
}

const resolveNothing: Resolve = async host => {
  throw new Error(`no one knows ${host}`)
}
const resolveTo =
  (...addresses: string[]): Resolve =>
  async () =>
    addresses.map((address): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 }))

/** The machine itself and private addresses, in every spelling that a URL allows. */
const SPELLINGS = [
  '127.0.0.1',
  '127.1',
  '127.0.1',
  '127.0.0.1.',
  '127.255.255.254',
  '127.000.000.001',
  '0177.0.0.1',
  '0x7f.1',
  '0x7f.0.0.1',
  '0x7f000001',
  '0X7F.0.0.1',
  '2130706433',
  '017700000001',
  '0x7f.0x0.0x0.0x1',
  '0177.0x0.0.1',
  '①②⑦.0.0.1',
  '１２７.０.０.１',
  '127。0。0。1',
  '127%2e0%2e0%2e1',
  '%31%32%37.0.0.1',
  '0',
  '0.0.0.0',
  '0x0',
  '00.0.0.0',
  '[::]',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[0000::0001]',
  '[::0.0.0.1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[0:0:0:0:0:ffff:7f00:0001]',
  '[::127.0.0.1]',
  '[64:ff9b::127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[64:ff9b:1::7f00:1]',
  '[2002:7f00:1::]',
  '[2001:0:7f00:1::]',
  '[::ffff:0:127.0.0.1]',
  '[fe80::1]',
  '[fec0::1]',
  '[fc00::1]',
  '[fd12:3456::1]',
  '[ff02::1]',
  '169.254.169.254',
  '0xa9fea9fe',
  '[::ffff:169.254.169.254]',
  '[fd00:ec2::254]',
  '10.0.0.1',
  '10.1',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.0.1',
  '192.168.1',
  '100.64.0.1',
  '198.18.0.1',
  '192.0.2.1',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
]

describe('an address that agents choose', () => {
  it(`is refused in all ${SPELLINGS.length} spellings when it is not public`, async () => {
    await using home = await networkGuard(resolveNothing)
    hits = 0
    for (const host of SPELLINGS) {
      const fetched = home.guard.fetch(`http://${host}:${port}/`)
      await expect(fetched, host).rejects.toMatchObject({ code: 'address_refused' })
    }
    expect(hits).toBe(0)
  })

  it.each([
    'file:///etc/passwd',
    'gopher://127.0.0.1:70/',
    'ftp://example.org/',
    'data:text/plain,hello',
    'javascript:alert(1)',
    'unix:/var/run/docker.sock',
    '//example.org',
    'example.org',
    'http://',
    'http://user:secret@example.org/',
    'http://[fe80::1%25eth0]/',
    'http://exa mple.org/',
  ])('is refused as %s', async url => {
    await using home = await networkGuard(resolveTo('93.184.215.14'))
    await expect(home.guard.fetch(url)).rejects.toMatchObject({ code: 'address_refused' })
  })

  it('is refused when any address of its name is private, also for a name with a trailing dot', async () => {
    for (const inside of ['127.0.0.1', '::1', '10.0.0.7', '::ffff:127.0.0.1', '169.254.169.254']) {
      await using home = await networkGuard(resolveTo('93.184.215.14', inside))
      hits = 0
      await expect(home.guard.fetch(`http://evil.example:${port}/`)).rejects.toThrow(
        'evil.example resolves to an address that is not allowed',
      )
      await expect(home.guard.fetch(`http://localhost.:${port}/`)).rejects.toMatchObject({ code: 'address_refused' })
      expect(hits).toBe(0)
    }
  })

  it('is pinned: after its check, a name is not resolved again for the connection', async () => {
    let asked = 0
    const flipping: Resolve = async () => {
      asked++
      // Returns a public, unreachable address first, and this machine at every second query.
      return [{ address: asked % 2 === 1 ? '203.0.114.1' : '127.0.0.1', family: 4 }]
    }
    await using home = await networkGuard(flipping)
    hits = 0
    for (let tries = 0; tries < 6; tries++) {
      const stop = new AbortController()
      const fetched = home.guard.fetch(`http://flip.example:${port}/`, { signal: stop.signal })
      setImmediate(() => setTimeout(() => stop.abort(new Error('long enough')), 50))
      await expect(fetched).rejects.toThrow()
    }
    expect(asked).toBe(6)
    expect(hits).toBe(0)
  })

  it('is checked again at each redirect', async () => {
    const host = `127.0.0.1:${port}`
    await using home = await networkGuard(resolveNothing, { free: [host] })
    const targets = ['http://127.0.0.2/', 'http://[::1]/', 'file:///etc/passwd', 'http://169.254.169.254/latest/']
    for (const target of targets) {
      answer = (_request, response) => response.writeHead(302, { location: target }).end()
      await expect(home.guard.fetch(`http://${host}/`)).rejects.toMatchObject({ code: 'address_refused' })
    }
    answer = (request, response) => response.writeHead(302, { location: `${request.url}x` }).end()
    await expect(home.guard.fetch(`http://${host}/`)).rejects.toThrow('redirects more than 5 times')
  })

  it('may be private if the operator allows its host and port; allow and deny lists apply', async () => {
    const host = `127.0.0.1:${port}`
    answer = (_request, response) => response.end('the canary')
    await using home = await testHost({
      builtins: [net],
      config: { tools: { web_allow_private: [host] } },
      clock: 'system',
    })
    const guard = home.kernel.use(GuardedFetch)
    const { body, status, truncated } = await guard.fetch(`http://${host}/`)
    expect({ text: Buffer.from(body).toString(), status, truncated }).toEqual({
      text: 'the canary',
      status: 200,
      truncated: false,
    })
    const other = `127.0.0.1:${port === 65535 ? 1 : port + 1}`
    await expect(guard.fetch(`http://${other}/`)).rejects.toThrow(
      `127.0.0.1 is not a public address (this machine). The operator can allow it: svc config set tools.web_allow_private '["${host}","${other}"]', then svc restart.`,
    )

    await using listed = await networkGuard(resolveNothing, {
      web_deny: ['bad.example'],
      web_allow: ['bad.example', 'good.example'],
    })
    await expect(listed.guard.fetch('http://www.bad.example/')).rejects.toThrow('www.bad.example is in tools.web_deny')
    await expect(listed.guard.fetch('http://notgood.example/')).rejects.toThrow('is not in tools.web_allow')
    await expect(listed.guard.fetch('http://www.good.example/')).rejects.toThrow('no one knows www.good.example')
  })
})

describe('a fetch', () => {
  const open = async () => {
    const host = `127.0.0.1:${port}`
    const home = await networkGuard(resolveNothing, { free: [host, `localhost:${port}`] })
    return Object.assign(home, { url: `http://${host}` })
  }

  it('cuts the body at the size limit, counted after decompression', async () => {
    await using home = await open()
    const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024))
    answer = (_request, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb)
    const { body, truncated } = await home.guard.fetch(home.url)
    expect([body.length, truncated]).toEqual([2 * 1024 * 1024, true])
    answer = (_request, response) => response.end('0123456789')
    expect((await home.guard.fetch(home.url, { max_bytes: 4 })).body).toHaveLength(4)
    expect((await home.guard.fetch(home.url, { max_bytes: 10 })).truncated).toBe(false)
  })

  it('waits for its lookup while another one is slow, and not beyond its end', async () => {
    let finish = () => {}
    const finished = new Promise<void>(resolve => {
      finish = resolve
    })
    const asked: string[] = []
    await using home = await networkGuard(async host => {
      asked.push(host)
      await finished
      throw new Error(`no one knows ${host}`)
    })
    const stop = new AbortController()
    const [slow, next] = ['slow', 'next'].map(name => home.guard.fetch(`http://${name}.test/`))
    const ended = home.guard.fetch('http://ended.test/', { signal: stop.signal })
    stop.abort(new Error('it was aborted'))
    await expect(ended).rejects.toThrow('it was aborted')
    expect(asked).toEqual(['slow.test'])
    finish()
    await expect(slow).rejects.toThrow('no one knows slow.test')
    await expect(next).rejects.toThrow('no one knows next.test')
    expect(asked).toEqual(['slow.test', 'next.test'])
  })

  it('ends when the caller aborts it', async () => {
    await using home = await open()
    answer = () => {}
    const stop = new AbortController()
    const fetched = home.guard.fetch(home.url, { signal: stop.signal })
    setImmediate(() => stop.abort(new Error('enough')))
    await expect(fetched).rejects.toThrow('enough')
  })

  it('sends no credentials to another origin and no body to the target of a redirect', async () => {
    await using home = await open()
    const seen: { method: string; key: string | undefined; other: string | undefined; type: string | undefined }[] = []
    answer = ({ method = '', headers, url }, response) => {
      const { authorization: key, 'content-type': type } = headers
      seen.push({ method, key, other: headers['x-other'] as string, type })
      if (url !== '/first') return response.end('done')
      response.writeHead(302, { location: `http://localhost:${port}/second` }).end()
    }
    // `localhost` is allowed by name, and its address by the operator.
    const resolving = await networkGuard(resolveTo('127.0.0.1'), { free: [`127.0.0.1:${port}`, `localhost:${port}`] })
    await using other = resolving
    await other.guard.fetch(`${home.url}/first`, {
      method: 'POST',
      headers: { authorization: 'Bearer secret', 'x-other': '1', 'content-type': 'text/plain' },
      body: 'hello',
    })
    expect(seen).toEqual([
      { method: 'POST', key: 'Bearer secret', other: '1', type: 'text/plain' },
      { method: 'GET', key: undefined, other: '1', type: undefined },
    ])
  })

  it('fails with a message when no server answers', async () => {
    await using home = await networkGuard(resolveNothing, { free: ['127.0.0.1:1'] })
    await expect(home.guard.fetch('http://127.0.0.1:1/')).rejects.toMatchObject({
      code: 'fetch_failed',
      message: expect.stringContaining('http://127.0.0.1:1/ could not be fetched'),
    })
  })
})
