import Sqlite from 'better-sqlite3'
import { withoutCollection } from '#platform/store/sqlite/uncollected'

/** SQLite as tests open it, beside the program: what they leave to the collector ends no process on any Node. */
const engine: typeof Sqlite = withoutCollection(Sqlite)
export default engine
