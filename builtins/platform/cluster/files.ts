import { z } from '#kernel'
import { defineEffect, type SharedFiles, type Store } from '#platform/store/contract'

const ENSURE = "INSERT INTO svc_files (path, version, body, at) VALUES (?, 0, '', ?) ON CONFLICT (path) DO NOTHING"

const writeFile = defineEffect({
  name: 'files.write',
  schema: z.object({ path: z.string(), text: z.string(), version: z.int() }),
  mustChange: true,
  statements: ({ path, text, version }, now) =>
    version === 0
      ? {
          sql: 'INSERT INTO svc_files (path, version, body, at) VALUES (?, 1, ?, ?) ON CONFLICT (path) DO NOTHING',
          params: [path, text, now],
        }
      : {
          sql: 'UPDATE svc_files SET version = version + 1, body = ?, at = ? WHERE path = ? AND version = ?',
          params: [text, now, path, version],
        },
})
const removeFile = defineEffect({
  name: 'files.remove',
  schema: z.object({ path: z.string() }),
  mustChange: true,
  statements: ({ path }) => ({ sql: 'DELETE FROM svc_files WHERE path = ?', params: [path] }),
})
const appendLines = defineEffect({
  name: 'files.append',
  schema: z.object({ path: z.string(), lines: z.array(z.string()).readonly(), anew: z.boolean() }),
  statements: ({ path, lines, anew }, now) => [
    anew ? { sql: 'DELETE FROM svc_lines WHERE path = ?', params: [path] } : { sql: ENSURE, params: [path, now] },
    ...lines.map(line => ({ sql: 'INSERT INTO svc_lines (path, line) VALUES (?, ?)', params: [path, line] })),
  ],
})
const claimLines = defineEffect({
  name: 'files.claim_lines',
  schema: z.object({ path: z.string(), version: z.int(), after: z.int() }),
  mustChange: true,
  statements: ({ path, version, after }, now) => ({
    sql: `UPDATE svc_files SET version = version + 1, at = ? WHERE path = ? AND version = ?
          AND NOT EXISTS (SELECT 1 FROM svc_lines WHERE svc_lines.path = svc_files.path AND n > ?)`,
    params: [now, path, version, after],
  }),
})
const ensureFile = defineEffect({
  name: 'files.ensure',
  schema: z.object({ path: z.string() }),
  statements: ({ path }, now) => ({ sql: ENSURE, params: [path, now] }),
})
export const FILE_EFFECTS = [writeFile, removeFile, appendLines, claimLines, ensureFile]

/** Files of a project in the tables `svc_files` and `svc_lines`. */
export function sharedFiles(store: Store): SharedFiles {
  return {
    async read(path) {
      const row = await store.get<{ body: string; version: number }>(
        'SELECT body, version FROM svc_files WHERE path = ?',
        [path],
      )
      return row && { text: row.body, version: row.version }
    },
    replace: (path, text, version) => store.apply([writeFile({ path, text, version })]),
    remove: path => store.apply([removeFile({ path })]),
    list: prefix =>
      store.all('SELECT path, at FROM svc_files WHERE substr(path, 1, ?) = ? ORDER BY path', [prefix.length, prefix]),
    async lines(path, after) {
      const rows = await store.all<{ version: number; n: number | null; line: string }>(
        `SELECT f.version, l.n, l.line FROM svc_files f LEFT JOIN svc_lines l ON l.path = f.path AND l.n > ?
         WHERE f.path = ? ORDER BY l.n`,
        [after, path],
      )
      const lines = rows.flatMap(({ n, line }) => (n === null ? [] : [{ n, line }]))
      return { version: rows[0]?.version ?? 0, lines }
    },
    append: async (path, lines) => void (await store.apply([appendLines({ path, lines, anew: false })])),
    async rewrite(path, lines, version, after) {
      const claim = claimLines({ path, version, after })
      if (!(await store.apply([ensureFile({ path }), claim, appendLines({ path, lines, anew: true })])))
        return undefined
      const row = await store.get<{ n: number }>('SELECT n FROM svc_lines WHERE path = ? ORDER BY n LIMIT 1 OFFSET ?', [
        path,
        Math.max(0, lines.length - 1),
      ])
      return row?.n ?? 0
    },
  }
}
