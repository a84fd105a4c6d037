import { readPageFile, type StaticRoute } from '#interfaces/rest/contract'
import { defineError, type Ports } from '#kernel'

const FILES = [
  { path: '/', file: 'index.html', contentType: 'text/html; charset=utf-8' },
  { path: '/assets/dashboard.css', file: 'dashboard.css', contentType: 'text/css; charset=utf-8' },
  { path: '/assets/dashboard.js', file: 'dashboard.js', contentType: 'text/javascript; charset=utf-8' },
  { path: '/assets/feed.js', file: 'feed.js', contentType: 'text/javascript; charset=utf-8' },
  { path: '/assets/icon.svg', file: 'icon.svg', contentType: 'image/svg+xml' },
]

/** The page may load only its own files, and no other page may frame it. Browsers revalidate each time. */
const HEADERS = {
  'cache-control': 'no-cache',
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "worker-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; '),
  'x-frame-options': 'DENY',
}

/** Folders of the built page: beside the bundle, or the last build when run from the source tree. */
const FOLDERS = [new URL('./dashboard/', import.meta.url), new URL('../../../dist/dashboard/', import.meta.url)]

const PageMissingError = defineError({
  code: 'page_missing',
  status: 500,
  title: 'Dashboard file missing',
  message: (p: { file: string }) =>
    `The file ${p.file} of the dashboard is missing from this installation; rebuild or reinstall svc.`,
})

/** Returns the routes of the page's files, each read from disk at each request. */
export function pageRoutes(files: Ports['files']): StaticRoute[] {
  return FILES.map(({ path, file, contentType }) => ({
    path,
    contentType,
    headers: HEADERS,
    async body(encodings) {
      const body = await readPageFile(files, FOLDERS, file, encodings)
      if (!body) throw new PageMissingError({ file })
      return body
    },
  }))
}
