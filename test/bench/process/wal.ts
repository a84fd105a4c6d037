import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { appendEvent, Store } from '#platform/store/contract'
import store from '#platform/store/index'
import { testHost } from '../../support/test-host.ts'
import { type Row, row } from '../row.ts'

const MIB = 2 ** 20
const COMMITS = 6_000
const TEXT = 'x'.repeat(2_000)

/** Measures the size of the write-ahead log with our own readers, and beside a reader that keeps a snapshot open. */
export async function wal(): Promise<Row[]> {
  await using home = await testHost({ builtins: [store], clock: 'system', roles: ['daemon'] })
  await using other = await testHost({ builtins: [store], clock: 'system', roles: ['cli'], root: home.root })
  const file = join(home.root, '.svc', 'svc.db')
  const size = async () => (await stat(`${file}-wal`)).size / MIB
  const writer = home.kernel.use(Store)
  let longest = 0
  const write = async (commits: number, between: () => Promise<unknown>) => {
    for (let n = 0; n < commits; n++) {
      await writer.apply([appendEvent({ type: 'bench', agent_id: null, data: { TEXT } })])
      if (n % 50 === 0) await between()
      longest = Math.max(longest, await size())
    }
  }
  const read = () => other.kernel.use(Store).all('SELECT seq, data FROM events ORDER BY seq DESC LIMIT 500', [])
  await write(COMMITS, read)
  const ours = longest
  const reader = new Sqlite(file, { readonly: true })
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM events').get()
  await write(COMMITS / 4, async () => {})
  const held = await size()
  reader.exec('COMMIT')
  reader.close()
  await write(200, async () => {})
  // Retention does this at each heartbeat.
  await writer.trimLog()
  return [
    row({
      what: `write-ahead log while another connection reads, longest in ${COMMITS} commits`,
      figure: ours,
      unit: 'MB',
      aim: { atMost: 16 },
    }),
    row({
      what: `write-ahead log beside a reader that holds one state, after ${COMMITS / 4} commits of 2 kB`,
      figure: held,
      unit: 'MB',
      note: 'SQLite keeps all that comes after what a reader sees; no reader of ours holds on to a state',
    }),
    row({ what: 'write-ahead log once that reader is gone', figure: await size(), unit: 'MB', aim: { atMost: 16 } }),
  ]
}
