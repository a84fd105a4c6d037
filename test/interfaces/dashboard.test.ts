import { readdir, readFile } from 'node:fs/promises'
import { get, type IncomingHttpHeaders } from 'node:http'
import { brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import dashboard from '#interfaces/dashboard/index'
import { ago, count, dollars, duration, moment, shortMoment, withLocalTimes } from '../../dashboard/ui/text/format.ts'
import { startRestServer } from './rest/rest-server.ts'

const startDashboard = (env: Record<string, string> = {}) => startRestServer({ plugins: [dashboard], env })
const folder = new URL('../../dashboard/', import.meta.url)
const FILES = ['/', '/assets/dashboard.js', '/assets/feed.js', '/assets/dashboard.css', '/assets/icon.svg']

/** Returns the source files of the page, by path. */
async function sources(): Promise<[path: string, text: string][]> {
  const names = await readdir(folder, { recursive: true })
  const code = names.filter(name => /\.(tsx?|css|html|svg)$/.test(name))
  return Promise.all(code.map(async name => [name, await readFile(new URL(name, folder), 'utf8')] as [string, string]))
}

describe('the dashboard’s page', () => {
  it('is served at / with all that it loads, and loads nothing from elsewhere', async () => {
    const { ask } = await startDashboard()
    const page = await ask('/')
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    const loaded = [...page.text.matchAll(/(?:src|href)="([^"#]+)"/g)].map(match => match[1]!)
    expect(loaded.length).toBeGreaterThanOrEqual(3)
    for (const path of loaded) expect(FILES).toContain(path)
    for (const path of FILES) {
      const { status, text } = await ask(path)
      expect(status, path).toBe(200)
      // XML namespaces are not addresses.
      expect(text.replaceAll(/http:\/\/www\.w3\.org\/[\w/]+/g, ''), path).not.toMatch(/["'(`](https?:)?\/\/[\w-]+\.\w/)
    }
  })

  it('takes less than 200 KB in all, compressed', async () => {
    const { ask } = await startDashboard()
    const sizes = await Promise.all(FILES.map(async path => gzipSync((await ask(path)).text).length))
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(200_000)
  })

  it('is sent unchanged in the compression that the client accepts, with a separate ETag for each', async () => {
    const { url, ask } = await startDashboard()
    /** Returns the raw bytes: `fetch` would decompress them. */
    const getBytes = (path: string, accepted: string) =>
      new Promise<{ headers: IncomingHttpHeaders; bytes: Buffer }>((resolve, reject) => {
        get(`${url}${path}`, { headers: { 'accept-encoding': accepted } }, async answer => {
          resolve({ headers: answer.headers, bytes: Buffer.concat(await answer.toArray()) })
        }).on('error', reject)
      })
    for (const path of FILES) {
      const plain = await getBytes(path, 'identity')
      const gzipped = await getBytes(path, 'gzip, deflate')
      const smallest = await getBytes(path, 'gzip, deflate, br, zstd')
      expect(plain.headers['content-encoding'], path).toBeUndefined()
      expect([gzipped, smallest].map(({ headers }) => headers['content-encoding'])).toEqual(['gzip', 'br'])
      expect(gunzipSync(gzipped.bytes).equals(plain.bytes), path).toBe(true)
      expect(brotliDecompressSync(smallest.bytes).equals(plain.bytes), path).toBe(true)
      expect(new Set([plain, gzipped, smallest].map(({ headers }) => headers.etag)).size).toBe(3)
      for (const { headers } of [plain, gzipped, smallest]) expect(headers.vary).toContain('Accept-Encoding')
      const tag = String(smallest.headers.etag)
      const again = await ask(path, { headers: { 'accept-encoding': 'br', 'if-none-match': tag } })
      expect([again.status, again.headers.vary]).toEqual([304, smallest.headers.vary])
    }
    for (const refused of ['br;q=0, gzip;q=0.0', '*;q=0', ''])
      expect((await getBytes('/assets/dashboard.js', refused)).headers['content-encoding'], refused).toBeUndefined()
    expect((await getBytes('/assets/dashboard.js', 'br;q=0, *')).headers['content-encoding']).toBe('gzip')
  })

  it('can neither be framed nor run a script that is not its own', async () => {
    const { ask } = await startDashboard()
    for (const path of FILES) {
      const { headers } = await ask(path)
      expect(headers['content-security-policy']).toBe(
        "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
      )
      expect(headers['x-frame-options']).toBe('DENY')
      expect(headers['x-content-type-options']).toBe('nosniff')
      expect(headers['referrer-policy']).toBe('no-referrer')
    }
  })

  it('has no inline script or style, and its source never turns text into markup', async () => {
    const page = await readFile(new URL('index.html', folder), 'utf8')
    expect(page).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|javascript:/i)
    const all = await sources()
    expect(all.length).toBeGreaterThan(50)
    for (const [path, text] of all) {
      expect(text, path).not.toMatch(
        /dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|document\.write|setHTML|srcdoc|\beval\b|new Function|javascript:/,
      )
      expect(text, path).not.toMatch(/\bstyle=(?!\{)/)
    }
  })

  it('keeps the key in the tab only, and only the theme and the times of the last visit for longer', async () => {
    const all = await sources()
    const kept = all.flatMap(([path, text]) =>
      [...text.matchAll(/(?:localStorage|indexedDB|document\.cookie)[^\n]*/g)].map(([line]) => `${path} ${line}`),
    )
    const places = kept.map(line => line.replace(/Item.*/, 'Item'))
    expect(places.toSorted()).toEqual([
      'api/last-visit.ts localStorage.getItem',
      'api/last-visit.ts localStorage.setItem',
      'ui/theme.ts localStorage.getItem',
      'ui/theme.ts localStorage.setItem',
    ])
  })

  it('needs no key, does not contain it, and is not sent again when unchanged', async () => {
    const { ask } = await startDashboard({ SVC_API_KEY: 'open sesame' })
    const page = await ask('/')
    expect(page.status).toBe(200)
    expect(page.text).not.toContain('open sesame')
    const again = await ask('/', { headers: { 'if-none-match': String(page.headers.etag) } })
    expect([again.status, again.text]).toEqual([304, ''])
  })

  it('shows durations and distances in time in the largest unit that fits, and never sixty of a smaller one', () => {
    const long = [740, 3_200, 9_970, 59_700, 119_600, 120_000, 3_599_600, 3_600_000, 5_400_000, 7_199_000].map(duration)
    expect(long).toEqual(['740 ms', '3.2 s', '10 s', '1 min', '2 min', '2 min', '1 h', '1 h', '1 h 30 min', '2 h'])
    const DAY = 86_400_000
    const away = (ms: number) => ago(new Date(ms).toISOString(), 0)
    expect([0, -5_000, 59_600, 90_000, -3_599_000, 7_200_000].map(away)).toEqual([
      'now',
      '5 s ago',
      'in 1 min',
      'in 2 min',
      '1 h ago',
      'in 2 h',
    ])
    expect([DAY - 1_000, 2 * DAY, -45 * DAY, 400 * DAY, 1_167 * DAY].map(away)).toEqual([
      'in 1 day',
      'in 2 days',
      '45 days ago',
      'in 13 months',
      'in 3 years',
    ])
  })

  it('formats numbers and times as Intl does, and dollars with the digits that matter', () => {
    const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
    const sizes = Array.from({ length: 400 }, (_, n) => Math.floor(1.07 ** n))
    for (const n of [0, 9_999, 999_949, 999_950, 999_949_999, 999_950_000, ...sizes])
      expect(count(n)).toBe(compact.format(n))
    const clock = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium', hourCycle: 'h23' })
    for (let month = 0; month < 12; month++) {
      const at = new Date(Date.UTC(2026, month, 2 * month + 1, 2 * month, month, 7)).toISOString()
      expect(withLocalTimes(`Frozen since ${at}; svc daemon resume`)).toBe(
        `Frozen since ${moment(at)}; svc daemon resume`,
      )
      expect(moment(at)).toBe(clock.format(new Date(at)))
      expect(shortMoment(at, Date.parse(at))).toBe(moment(at).split(', ')[2])
      expect(shortMoment(at, Date.parse(at) + 86_400_000)).toBe(moment(at).replace(/, \d{4}/, ''))
    }
    expect([0, 0.0000042, 0.0421, 0.0996, 0.1, 12, 1_204.5].map(dollars)).toEqual([
      '$0.00',
      '$0.0000042',
      '$0.042',
      '$0.10',
      '$0.10',
      '$12.00',
      '$1,204.50',
    ])
  })

  it('accepts only GET and HEAD, and serves no path outside its folder', async () => {
    const { ask } = await startDashboard()
    const post = await ask('/', { method: 'POST' })
    expect([post.status, post.headers.allow]).toEqual([405, 'GET, HEAD'])
    for (const path of [
      '/assets/',
      '/assets/..%2fREADME.md',
      '/assets/../../package.json',
      '/assets/README.md',
      '/dashboard.js',
    ]) {
      expect((await ask(path)).status, path).toBe(404)
    }
  })
})
