import { DatabaseUnusableError, type EngineParts } from '#platform/store/contract'
import { PROGRESS } from '../move/copy.ts'
import type { Connections } from './connection.ts'
import { schemaToPostgres } from './dialect.ts'
import { TOTALS } from './totals.ts'

/** Advisory lock for migrations (`svc1` in ASCII); the next number is the lock for writes. */
const SCHEMA_LOCK = 0x73766331
const WRITE_LOCK = SCHEMA_LOCK + 1

const LOCK = `pg_advisory_xact_lock(${WRITE_LOCK})`
/** First statement of a message that writes: takes the write lock. */
export const TURN = `SELECT ${LOCK}`
/** Takes the write lock and adds a row that shows later whether the message arrived. */
export const MARKED_TURN = `INSERT INTO svc_writes (write_id) SELECT ? FROM ${LOCK}`

/**
 * Objects that only PostgreSQL needs: rows in `svc_writes` show which writes arrived, functions raise an error where a row must
 * change or a lease must be held, and rows are numbered in the order of insertion, as in SQLite.
 */
const OWN = `
CREATE TABLE svc_schema (one BIGINT PRIMARY KEY CHECK (one = 1), version BIGINT NOT NULL);
INSERT INTO svc_schema VALUES (1, 0);
CREATE TABLE svc_writes (write_id TEXT PRIMARY KEY, at TIMESTAMPTZ NOT NULL DEFAULT now());
CREATE INDEX svc_writes_by_time ON svc_writes USING brin (at);
CREATE TABLE svc_files (path TEXT COLLATE "C" PRIMARY KEY, version BIGINT NOT NULL, body TEXT NOT NULL, at BIGINT NOT NULL);
CREATE TABLE svc_lines (
  path TEXT COLLATE "C" NOT NULL REFERENCES svc_files (path) ON DELETE CASCADE, n BIGINT GENERATED ALWAYS AS IDENTITY, line TEXT NOT NULL,
  PRIMARY KEY (path, n)
);
CREATE TABLE svc_nodes (
  owner TEXT PRIMARY KEY, place TEXT NOT NULL, host TEXT NOT NULL, pid BIGINT NOT NULL, version TEXT NOT NULL,
  schema_version BIGINT NOT NULL, config TEXT NOT NULL, in_flight BIGINT NOT NULL, lag_ms BIGINT NOT NULL,
  draining BIGINT NOT NULL DEFAULT 0, started_at BIGINT NOT NULL, seen_at BIGINT NOT NULL
);
CREATE FUNCTION svc_changed(changed BIGINT, otherwise TEXT) RETURNS BIGINT LANGUAGE plpgsql AS $$
  BEGIN
    IF changed <> 1 THEN RAISE EXCEPTION 'nothing was changed' USING ERRCODE = otherwise; END IF;
    RETURN changed;
  END $$;
`
/**
 * Additions to single steps. A million idle agents need that many leases, and every cycle changes one, so their columns
 * are no wider than necessary, and the primary key is the only index by agent.
 */
const AFTER: Record<string, string> = {
  '003-durable-agents': `${['agents', 'spend']
    .map(table => `ALTER TABLE ${table} ADD COLUMN rowid BIGINT GENERATED ALWAYS AS IDENTITY;`)
    .join('')}
    DROP INDEX leases_by_agent;
    ALTER TABLE leases DROP CONSTRAINT leases_agent_id_fkey, ALTER epoch TYPE INT, ALTER woken TYPE SMALLINT, ALTER cycle_num TYPE INT;
    CREATE FUNCTION svc_lease_ends() RETURNS TRIGGER LANGUAGE plpgsql AS $$
      BEGIN DELETE FROM leases WHERE id = OLD.agent_id; RETURN OLD; END $$;
    CREATE TRIGGER svc_lease_ends AFTER DELETE ON agents FOR EACH ROW EXECUTE FUNCTION svc_lease_ends();`,
  '005-approvals': 'ALTER TABLE leases ALTER wakes TYPE INT;',
}

/** Steps that PostgreSQL replaces. */
const INSTEAD: Record<string, string> = {
  '018-totals': TOTALS,
  '047-goal-totals': 'CREATE VIEW goal_totals_view AS SELECT goals_active AS active FROM agent_totals;',
  '021-fewer-pages': `DROP INDEX spend_by_goal, transcripts_by_agent;
    ALTER TABLE pursuit_transcripts DROP CONSTRAINT pursuit_transcripts_agent_id_fkey;`,
}

/** Returns the migrations for PostgreSQL: its own objects first, then each step, translated. */
export function stepsOf(schema: EngineParts['schema']): string[] {
  return [OWN, ...schema.map(({ name, sql }) => INSTEAD[name] ?? schemaToPostgres(sql) + (AFTER[name] ?? ''))]
}

/** SQLSTATE of the errors that `svc_changed` raises. */
export const REFUSED = 'SV001'
export const FENCED = 'SV002'

/**
 * Runs all missing migrations in one transaction, in one process at a time.
 * @param filling whether a copy is made into the database; otherwise an unfinished copy is refused
 * @throws DatabaseUnusableError for a database of another program, newer than this program, or not filled yet
 */
export async function migrate(connections: Connections, schema: EngineParts['schema'], filling = false): Promise<void> {
  const { at: file } = connections
  const [own, ...steps] = stepsOf(schema)
  await connections.retry(() =>
    connections.transaction(async query => {
      await query(`SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0;
        SET LOCAL idle_in_transaction_session_timeout = '60s'; SELECT pg_advisory_xact_lock(${SCHEMA_LOCK})`)
      const exists = async (table: string) => (await query(`SELECT to_regclass('${table}') AS found`)).rows[0]?.found
      if (!(await exists('svc_schema'))) {
        if (await exists('agents')) {
          const remedy = 'use a separate database for svc'
          throw new DatabaseUnusableError({ file, problem: 'has tables of another program', remedy })
        }
        await query(own!)
      }
      if (!filling && (await exists(PROGRESS))) {
        const remedy = 'continue the copy in the project where it began: svc db move --to <this database>'
        throw new DatabaseUnusableError({ file, problem: 'contains an unfinished copy', remedy })
      }
      const version = Number((await query('SELECT version FROM svc_schema')).rows[0]?.version)
      if (version > schema.length) {
        const problem = `has schema version ${version}, but this version of svc supports at most ${schema.length}`
        throw new DatabaseUnusableError({ file, problem, remedy: 'update svc on this machine' })
      }
      for (const step of steps.slice(version)) await query(step)
      if (version < schema.length) await query(`UPDATE svc_schema SET version = ${schema.length}`)
    }),
  )
}
