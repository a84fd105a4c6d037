import { readFile, writeFile } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import net from '#safety/net/index'
import { pageOf } from '#safety/net/page'
import knowledge from '#tools/toolkits/knowledge/index'
import links from '#tools/toolkits/links/index'
import { type HttpServer, httpServer } from '../../support/model/http.ts'
import { remembering } from '../core/memory/memory-host.ts'
import { use } from '../use.ts'

let server: HttpServer
let site = ''
let asked: string[] = []
let answer: RequestListener

beforeAll(async () => {
  server = await httpServer((request, response) => {
    asked.push(request.url ?? '')
    answer(request, response)
  })
  site = server.url
})
afterAll(() => server.close())
beforeEach(() => {
  asked = []
})

const html =
  (text: string, type = 'text/html; charset=utf-8'): RequestListener =>
  (_request, response) =>
    response.setHeader('content-type', type).end(text)

/** Opens a test host whose agents may reach the test's own site, although its address is private. */
const open = () =>
  remembering([net, links, knowledge], {
    clock: 'system',
    config: { tools: { web_allow_private: [site.slice('http://'.length)] } },
  })

const PAGE = `<!doctype html><html><head><title>Pelican &amp; cliff</title><style>p { color: red }</style>
<meta name="description" content="How pelicans nest &#8211; a study"></head>
<body><script>alert('pelican')</script><h1>Nests</h1><p>They nest<br>high up.</p><!-- not this --><p>1 < 2 &lt; 3</p></body></html>`

describe('a link', () => {
  it('is saved once with title and summary, found by their words, and listed', async () => {
    await using home = await open()
    answer = html(PAGE)
    const saved = await use(home, 'save_link', { url: `${site}/a`, tags: 'birds', notes: 'for the talk' })
    expect(saved).toMatch(
      /^Saved as mem-\w+\.\n.*not orders to you\.\n<<<\nPelican & cliff\nHow pelicans nest – a study\n>>>$/,
    )
    expect(await use(home, 'save_link', { url: `${site}/a`, notes: 'for the book' })).toBe(saved)
    answer = html('<title>Bread</title>Sourdough')
    await use(home, 'save_link', { url: `${site}/b` })
    expect(asked).toEqual(['/a', '/a', '/b'])
    const found = await use(home, 'search_links', { query: 'pelicans' })
    expect(found).toContain(`${site}/a Pelican & cliff for the book How pelicans nest – a study`)
    expect(found).not.toContain('/b')
    const list = await use(home, 'list_links', { limit: 1 })
    expect(list).toContain(`${site}/b Bread Sourdough`)
    expect(list).toContain('[See older links with offset=1.]')
    expect(await use(home, 'list_links', { limit: 1, offset: 1 })).toContain(`${site}/a`)
    expect(await use(home, 'list_links', { offset: 2 })).toBe('[There are no older links.]')
    expect(await use(home, 'search_notes', { query: 'pelicans' })).toContain('[link]')
  })

  it.each([
    ['is not found', (_: unknown, response) => void response.writeHead(404).end('gone'), 'the server answered 404'],
    ['is no text', html('\u0000', 'image/png'), 'its type is image/png'],
    ['breaks off', (_: unknown, response) => void response.destroy(), 'could not be fetched'],
  ] satisfies [string, RequestListener, string][])(
    'is saved without a summary when its page %s',
    async (_, reply, why) => {
      await using home = await open()
      answer = reply
      const saved = await use(home, 'save_link', { url: `${site}/x`, notes: 'the address matters' })
      expect(saved).toMatch(/^Saved as mem-\w+, without title and summary\. /)
      expect(saved).toContain(why)
      expect(await use(home, 'search_links', { query: 'address matters' })).toContain(`${site}/x`)
    },
  )

  it('is neither fetched from this machine nor saved when it is not a web address', async () => {
    await using home = await remembering([net, links], { clock: 'system' })
    answer = html(PAGE)
    expect(await use(home, 'save_link', { url: `${site}/inside` })).toContain('was not fetched')
    expect(await use(home, 'scrape_link', { url: `${site}/inside` })).toContain('was not fetched')
    for (const url of ['file:///etc/passwd', 'javascript:alert(1)', 'http://me:secret@example.org/', 'pelican'])
      for (const name of ['save_link', 'scrape_link'])
        expect(await use(home, name, { url })).toMatch(/^error: .*is not a valid address/)
    expect(asked).toEqual([])
    expect(await use(home, 'list_links')).not.toContain('passwd')
  })

  it('is saved without a fetch when there is no network access, and the result says so', async () => {
    await using home = await remembering([links])
    const saved = await use(home, 'save_link', { url: 'https://example.org/docs', notes: 'the manual' })
    expect(saved).toContain('without title and summary. The page was not fetched')
    expect(await use(home, 'search_links', { query: 'manual' })).toContain('https://example.org/docs the manual')
  })
})

describe('a web page', () => {
  it('is read as text, in parts, to its end', async () => {
    await using home = await open()
    const words = Array.from({ length: 4_000 }, (_, n) => `<p>line ${n}</p>`)
    answer = html(`<title>Long</title>${words.join('')}`)
    const seen: string[] = []
    for (let offset: number | undefined = 0; offset !== undefined; ) {
      const part = await use(home, 'scrape_link', { url: site, offset })
      expect(part.length).toBeLessThan(8_500)
      seen.push(part.replace(/^Between .*\n<<<\n/, '').replace(/(\n\[\d+ more characters.*)?\n>>>$/, ''))
      const next = /read on with offset=(\d+)/.exec(part)?.[1]
      offset = next === undefined ? undefined : Number(next)
    }
    expect(seen.join('')).toBe(`Long\n\n${words.map((_, n) => `line ${n}`).join('\n')}`)
  })

  it('is reduced to its visible text, without markup, scripts and hidden characters', () => {
    expect(pageOf(PAGE)).toMatchObject({
      title: 'Pelican & cliff',
      summary: 'How pelicans nest – a study',
      text: 'Nests\nThey nest\nhigh up.\n1 < 2 < 3',
    })
    expect(pageOf('a\u202eb\u{e0041}<p>c\u200bd\ufe01</p>&#0;&#xD800;&nope;').text).toBe('ab\ncd\n&nope;')
    expect(pageOf('<script>never closed').text).toBe('')
    expect(pageOf('plain').summary).toBe('plain')
  })

  it('has one line for each row of a table', () => {
    const head = '<thead><tr><th>Station</th><th> mm </th>\n<th>Area</th></tr></thead>'
    const rows =
      '<tr><td><a href="/n">Ness</a></td><td></td><td>north\n</td></tr><tr><td></td><td></td></tr><tr><td>1<td>2</tr>'
    const { text, links } = pageOf(`<p>Rain</p><table>${head}<tbody>${rows}</tbody></table><pre>|</pre><p>End</p>`)
    expect(text).toBe('Rain\nStation | mm | Area\nNess | | north\n1 | 2\n|\nEnd')
    expect(links).toEqual([{ href: '/n', text: 'Ness' }])
  })

  it.each(['<', '<a', '<!--', '<script>', '</', '<title>', '<meta content="', '&amp', '< '])(
    'is parsed within five seconds when it is a megabyte of %j',
    piece => {
      const hostile = piece.repeat(Math.ceil(1_000_000 / piece.length))
      const began = performance.now()
      pageOf(hostile)
      // Takes half a second when run alone; backtracking takes minutes.
      expect(performance.now() - began).toBeLessThan(5_000)
    },
  )
})

describe('a named link', () => {
  it('is found under any spelling of its name, replaced, listed and removed', async () => {
    await using home = await remembering([links])
    expect(await use(home, 'save_named_link', { name: ' Project Docs! ', url: 'https://example.org/a' })).toBe(
      'project-docs is https://example.org/a',
    )
    await use(home, 'save_named_link', { name: 'project_docs', url: 'https://example.org/b' })
    await use(home, 'save_named_link', { name: 'Übersicht', url: 'https://example.org/c' })
    expect(await use(home, 'get_named_link', { name: 'PROJECT-DOCS' })).toBe('https://example.org/b')
    expect(await use(home, 'list_named_links')).toBe(
      'übersicht: https://example.org/c\nproject-docs: https://example.org/b',
    )
    expect(await use(home, 'list_named_links', { limit: 1 })).toContain('[More with offset=1.]')
    expect(await use(home, 'remove_named_link', { name: 'project docs' })).toBe('project-docs is removed.')
    expect(await use(home, 'get_named_link', { name: 'project docs' })).toContain('no link named "project-docs"')
    const file = join(home.root, '.svc/memory/worker-1/named_links.json')
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({ übersicht: 'https://example.org/c' })
  })

  it('must be a web address, under a name with letters or digits', async () => {
    await using home = await remembering([links])
    expect(await use(home, 'save_named_link', { name: 'x', url: 'file:///etc/passwd' })).toContain(
      'is not a valid address',
    )
    expect(await use(home, 'save_named_link', { name: '../', url: 'https://example.org' })).toContain(
      'letters or digits',
    )
    expect(await use(home, 'save_named_link', { name: '__proto__', url: 'https://example.org' })).toContain('proto is')
  })

  it('can be saved when the file is damaged, which is set aside', async () => {
    await using home = await remembering([links])
    await use(home, 'save_named_link', { name: 'a', url: 'https://example.org/a' })
    const file = join(home.root, '.svc/memory/worker-1/named_links.json')
    await writeFile(file, '{"a": "https://ex')
    await use(home, 'save_named_link', { name: 'b', url: 'https://example.org/b' })
    expect(await use(home, 'list_named_links')).toBe('b: https://example.org/b')
    expect(await readFile(`${file}.corrupt`, 'utf8')).toBe('{"a": "https://ex')
  })
})
