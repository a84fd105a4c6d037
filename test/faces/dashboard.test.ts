import { readdir, readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import dashboard from '../../builtins/dashboard/index.ts'
import { restHouse } from './rest-house.ts'

const house = (env: Record<string, string> = {}) => restHouse({ plugins: [dashboard], env })
const folder = new URL('../../dashboard/', import.meta.url)

describe('the dashboard’s page', () => {
  it('is served at / with all that it loads, and loads from nowhere else', async () => {
    const { ask } = await house()
    const page = await ask('/')
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    const loaded = [...page.text.matchAll(/(?:src|href)="([^"#]+)"/g)].map(match => match[1]!)
    expect(loaded.length).toBeGreaterThanOrEqual(3)
    for (const path of loaded) {
      expect(path).toMatch(/^\/assets\/[\w.]+$/)
      expect((await ask(path)).status, path).toBe(200)
    }
    for (const file of await readdir(folder)) {
      if (file === 'README.md') continue
      const text = await readFile(new URL(file, folder), 'utf8')
      expect(text.replace('http://www.w3.org/2000/svg', ''), file).not.toMatch(/https?:\/\/|\/\/[\w-]+\.\w/)
    }
  })

  it('can neither be framed nor run a script that is not its own', async () => {
    const { ask } = await house()
    for (const path of ['/', '/assets/dashboard.js', '/assets/icon.svg']) {
      const { headers } = await ask(path)
      expect(headers['content-security-policy']).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
      )
      expect(headers['x-frame-options']).toBe('DENY')
      expect(headers['x-content-type-options']).toBe('nosniff')
      expect(headers['referrer-policy']).toBe('no-referrer')
    }
  })

  it('has no inline script or style, and its script never makes markup of words', async () => {
    const page = await readFile(new URL('index.html', folder), 'utf8')
    expect(page).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|javascript:/i)
    const script = await readFile(new URL('dashboard.js', folder), 'utf8')
    expect(script).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|setHTML|\beval\b|new Function/)
    expect(script).not.toContain('localStorage')
  })

  it('needs no key, holds no data, and is not sent twice', async () => {
    const { ask } = await house({ SVC_API_KEY: 'open sesame' })
    const page = await ask('/')
    expect(page.status).toBe(200)
    expect(page.text).not.toContain('open sesame')
    const again = await ask('/', { headers: { 'if-none-match': String(page.headers.etag) } })
    expect([again.status, again.text]).toEqual([304, ''])
  })

  it('takes GET only, and no path leads out of its folder', async () => {
    const { ask } = await house()
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
