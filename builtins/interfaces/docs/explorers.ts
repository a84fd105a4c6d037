import { readPageFile, type StaticRoute } from '#interfaces/rest/contract'
import { defineError, type Ports } from '#kernel'

const HTML = 'text/html; charset=utf-8'
const SCRIPT = 'text/javascript; charset=utf-8'
const STYLE = 'text/css; charset=utf-8'

/** Permissions of both pages: to load their own files and call this server; never to be framed. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
]
/** ReDoc injects styles into the page, and searches in a worker created from a blob. */
const POLICIES = {
  docs: [...POLICY, "style-src 'self'"],
  redoc: [...POLICY, "style-src 'self' 'unsafe-inline'", 'worker-src blob:'],
}

const FILES: { path: string; file: string; contentType: string; page?: keyof typeof POLICIES }[] = [
  { path: '/docs', file: 'docs.html', contentType: HTML, page: 'docs' },
  { path: '/redoc', file: 'redoc.html', contentType: HTML, page: 'redoc' },
  { path: '/assets/docs/docs.js', file: 'docs.js', contentType: SCRIPT },
  { path: '/assets/docs/redoc.js', file: 'redoc.js', contentType: SCRIPT },
  { path: '/assets/docs/pages.css', file: 'pages.css', contentType: STYLE },
  { path: '/assets/docs/swagger-ui-bundle.js', file: 'swagger-ui-bundle.js', contentType: SCRIPT },
  { path: '/assets/docs/swagger-ui.css', file: 'swagger-ui.css', contentType: STYLE },
  { path: '/assets/docs/redoc.standalone.js', file: 'redoc.standalone.js', contentType: SCRIPT },
]

/**
 * Folders of the files: beside the bundle; in the source tree, the pages here and the package files that the build
 * copied.
 */
const FOLDERS = [
  new URL('./docs/', import.meta.url),
  new URL('./pages/', import.meta.url),
  new URL('../../../dist/docs/', import.meta.url),
]

const ExplorerMissingError = defineError({
  code: 'explorer_missing',
  status: 500,
  title: 'API explorer missing',
  message: (p: { file: string }) =>
    `The file ${p.file} of the API explorers is missing from this installation; rebuild or reinstall svc.`,
})

/**
 * Returns the routes of both API explorers and their files. Browsers revalidate each time, and get 304 when nothing
 * changed.
 */
export function explorerRoutes(files: Ports['files']): StaticRoute[] {
  return FILES.map(({ path, file, contentType, page }) => ({
    path,
    contentType,
    headers: {
      'cache-control': 'no-cache',
      ...(page ? { 'content-security-policy': POLICIES[page].join('; '), 'x-frame-options': 'DENY' } : {}),
    },
    async body(encodings) {
      const body = await readPageFile(files, FOLDERS, file, encodings)
      if (!body) throw new ExplorerMissingError({ file })
      return body
    },
  }))
}
