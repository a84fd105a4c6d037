import { join } from 'node:path'
import type { PluginHandle } from '#kernel'
import { secretsOf } from '#lib/secrets'
import { type EventRow, FileExistsError, Store } from '#platform/store/contract'
import { NotReplayableError, Recording, RecordingNotFoundError } from '../contract.ts'
import { Digester } from '../recording/digest.ts'
import { statements } from '../recording/effects.ts'
import { type Entry, LOG_VERSION } from '../recording/entries.ts'
import { compress, decompress } from '../recording/recording-files.ts'
import { ParsedRecording } from './parsed-recording.ts'
import { Playback } from './playback.ts'
import { type Original, requireVersion } from './replay.ts'
import { openReplayKernel } from './replay-kernel.ts'

interface Fixture {
  svcrec: number
  about: Recording
  entries: Entry[]
  events: readonly EventRow[]
  /** Contents of the database file, in base64. */
  state: string
}

/** Returns whether a run is named by a file. */
export function isFile(run: string): boolean {
  return run.endsWith('.svcrec')
}

/** @throws RecordingNotFoundError, NotReplayableError */
export async function readFixture({ ports: { files } }: PluginHandle, file: string): Promise<Original> {
  const bytes = await files.readFile(file).catch(() => {
    throw new RecordingNotFoundError({ run_id: file })
  })
  const fixture = await decompress(bytes)
    .then(text => JSON.parse(text) as Fixture)
    .catch(() => {
      throw new NotReplayableError({ run_id: file, why: 'the file is not a recording, or it is damaged' })
    })
  const { svcrec, about, entries, events, state } = fixture
  requireVersion(file, svcrec)
  return { about: Recording.parse(about), entries, events, state: Buffer.from(state, 'base64') }
}

/**
 * Writes a whole recording to one file, without the values of secrets.
 * @throws FileExistsError
 */
export async function writeFixture(svc: PluginHandle, whole: Original, file: string): Promise<void> {
  if (whole.about.state === null) {
    throw new NotReplayableError({
      run_id: whole.about.run_id,
      why: whole.about.cut ?? 'its initial database is missing',
    })
  }
  const { about, entries, events } = whole
  const state = (await withoutSecrets(svc, whole)).toString('base64')
  const fixture: Fixture = { svcrec: LOG_VERSION, about, entries, events, state }
  await svc.ports.files
    .writeFile(file, await compress(JSON.stringify(fixture)), { flag: 'wx', mode: 0o600 })
    .catch((error: NodeJS.ErrnoException) => {
      throw error.code === 'EEXIST' ? new FileExistsError({ file }) : error
    })
}

/** Returns the initial database of a recording, with secrets in its text columns masked. */
async function withoutSecrets(svc: PluginHandle, whole: Original): Promise<Buffer> {
  const secrets = secretsOf(svc)().filter(({ length }) => length >= 8)
  if (secrets.length === 0) return whole.state
  const still = new Playback({
    recording: new ParsedRecording([], { was: 0, is: 0 }),
    clock: svc.clock,
    digester: new Digester(text => text),
    compare: async () => undefined,
    configure: async () => {},
    loadPlugin: async () => {},
  })
  await using stage = await openReplayKernel(svc, whole, still)
  const store = stage.kernel.use(Store)
  const columns = await store.all<{ tab: string; col: string }>(
    `SELECT m.name AS tab, c.name AS col FROM sqlite_master m, pragma_table_info(m.name) c
     WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND (c.type LIKE '%text%' OR c.type LIKE '%char%' OR c.type LIKE '%clob%')`,
  )
  // Each secret in plain form, and as escaped in JSON.
  const forms = new Set(secrets.flatMap(secret => [secret, JSON.stringify(secret).slice(1, -1)]))
  const cleaned = columns.flatMap(({ tab, col }) =>
    [...forms].map(secret => ({
      sql: `UPDATE "${tab}" SET "${col}" = replace("${col}", ?, '***') WHERE instr("${col}", ?) > 0`,
      params: [secret, secret],
    })),
  )
  await store.apply([statements(cleaned)])
  const copy = join(stage.root, 'clean.db')
  await store.copyTo!(copy)
  return svc.ports.files.readFile(copy)
}
