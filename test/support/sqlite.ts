import Sqlite from 'better-sqlite3'
import { withoutCollection } from '#platform/store/sqlite/uncollected'

/**
 * SQLite as tests open it, beside the program. Where garbage collection of its objects would crash Node, they are never
 * collected.
 */
const engine: typeof Sqlite = withoutCollection(Sqlite)
export default engine
