import { describe, expect, it } from 'vitest'
import docs from '#interfaces/docs/index'
import { startRestServer } from './rest/rest-server.ts'

const PAGES = ['/docs', '/redoc']

describe('the API explorers', () => {
  it('are served with all that they load, and load nothing from elsewhere', async () => {
    const { ask } = await startRestServer({ plugins: [docs] })
    for (const path of PAGES) {
      const page = await ask(path)
      expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
      expect(page.text).not.toMatch(/https?:|src="(?!\/)/)
      const loaded = [...page.text.matchAll(/(?:src|href)="(\/assets\/docs\/[^"]+)"/g)].map(([, file]) => file!)
      expect(loaded.length).toBeGreaterThan(2)
      for (const file of loaded) {
        const { status, headers } = await ask(file)
        expect(status, file).toBe(200)
        expect(headers['content-type'], file).toMatch(file.endsWith('.css') ? /^text\/css/ : /^text\/javascript/)
      }
    }
    expect((await ask('/assets/docs/redoc.standalone.js')).text).not.toContain('cdn.redoc')
  })

  it('can neither be framed nor run a script that is not their own', async () => {
    const { ask } = await startRestServer({ plugins: [docs] })
    for (const path of PAGES) {
      const { headers, text } = await ask(path)
      const policy = String(headers['content-security-policy'])
      for (const rule of ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"]) {
        expect(policy.split('; '), path).toContain(rule)
      }
      expect(policy).toContain("base-uri 'none'; form-action 'none'")
      expect(headers['x-frame-options']).toBe('DENY')
      expect(headers['referrer-policy']).toBe('no-referrer')
      expect(text).not.toMatch(/<script>|<script(?![^>]*src=)|\son\w+=|<style|\sstyle=/)
    }
  })

  it('need no key, do not contain it, and are not sent again when unchanged', async () => {
    const { ask } = await startRestServer({ plugins: [docs], env: { SVC_API_KEY: 'open sesame' } })
    for (const path of [...PAGES, '/assets/docs/docs.js']) {
      const { status, headers, text } = await ask(path)
      expect([status, headers['cache-control']], path).toEqual([200, 'no-cache'])
      expect(text).not.toContain('open sesame')
      expect((await ask(path, { headers: { 'if-none-match': String(headers.etag) } })).status, path).toBe(304)
    }
    expect((await ask('/agents')).status).toBe(401)
  })

  it('accept only GET and HEAD, and serve no path outside their folder', async () => {
    const { ask } = await startRestServer({ plugins: [docs] })
    for (const path of PAGES) {
      const { status, headers } = await ask(path, { method: 'POST' })
      expect([status, headers.allow], path).toEqual([405, 'GET, HEAD'])
    }
    for (const path of [
      '/docs/',
      '/docs/docs.js',
      '/assets/docs/',
      '/assets/docs/..%2f..%2fpackage.json',
      '/assets/docs/../../package.json',
    ]) {
      expect([400, 404], path).toContain((await ask(path)).status)
    }
  })
})
