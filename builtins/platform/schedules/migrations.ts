import { childTable } from '#lib/child-table'

const schedules = childTable(
  'schedules',
  `schedule_id TEXT PRIMARY KEY, agent_id TEXT NOT NULL @, objective TEXT NOT NULL, every_n_cycles INTEGER,
    last_fired_cycle INTEGER NOT NULL DEFAULT 0, enabled INTEGER NOT NULL DEFAULT 1, created_at INTEGER NOT NULL`,
)

const alarms = childTable(
  'alarms',
  `alarm_id TEXT PRIMARY KEY, agent_id TEXT NOT NULL @, description TEXT NOT NULL, fire_at INTEGER NOT NULL,
    status TEXT NOT NULL DEFAULT 'pending', created_at INTEGER NOT NULL`,
)

/** DDL of this module's tables, by schema step of `builtins/migrations.ts`. */
export const MIGRATIONS = {
  '001-first': `
${schedules.created}
${alarms.created}`,
  '002-cascading-deletes': `
${schedules.cascading}
${alarms.cascading}`,
  '011-schedules': `
ALTER TABLE schedules ADD COLUMN every_ms INTEGER;
ALTER TABLE schedules ADD COLUMN cron TEXT;
ALTER TABLE schedules ADD COLUMN time_zone TEXT;
ALTER TABLE schedules ADD COLUMN missed TEXT;
ALTER TABLE schedules ADD COLUMN priority INTEGER NOT NULL DEFAULT 4;
ALTER TABLE schedules ADD COLUMN created_by TEXT NOT NULL DEFAULT 'agent';
ALTER TABLE schedules ADD COLUMN next_at INTEGER;
ALTER TABLE schedules ADD COLUMN held_by TEXT;
ALTER TABLE schedules ADD COLUMN fired INTEGER NOT NULL DEFAULT 0;
ALTER TABLE schedules ADD COLUMN skipped INTEGER NOT NULL DEFAULT 0;
ALTER TABLE schedules ADD COLUMN last_skip TEXT;
ALTER TABLE schedules ADD COLUMN last_fired_at INTEGER;
ALTER TABLE schedules ADD COLUMN last_goal_id TEXT;

-- Earlier versions counted the daemon's cycles, from 0 at each start; an agent's own count is durable, and may be lower.
UPDATE schedules SET last_fired_cycle = min(last_fired_cycle,
  coalesce((SELECT cycle_num FROM leases WHERE leases.agent_id = schedules.agent_id), 0));
CREATE INDEX schedules_by_agent ON schedules (agent_id, created_at);
CREATE INDEX schedules_due ON schedules (next_at) WHERE enabled = 1 AND next_at IS NOT NULL;
CREATE INDEX schedules_by_cycle ON schedules (agent_id) WHERE enabled = 1 AND every_n_cycles IS NOT NULL;
ALTER TABLE alarms ADD COLUMN fired_at INTEGER;
ALTER TABLE alarms ADD COLUMN told_at INTEGER;
ALTER TABLE alarms ADD COLUMN created_by TEXT NOT NULL DEFAULT 'agent';
CREATE INDEX alarms_due ON alarms (fire_at) WHERE status = 'pending';
CREATE INDEX alarms_by_agent ON alarms (agent_id, fire_at);
`,
  /** Views for other modules. */
  '046-views': `
CREATE VIEW alarms_view AS SELECT alarm_id, agent_id, description, fire_at, status, created_at FROM alarms;
CREATE VIEW schedules_view AS SELECT schedule_id, agent_id, objective, every_n_cycles, enabled, created_at, priority, held_by
  FROM schedules;
`,
  '053-schedule-acceptance': 'ALTER TABLE schedules ADD COLUMN acceptance TEXT;',
  /** `goal_id`: the only goal whose conversation gets the message; null for any. */
  '060-background-ends': 'ALTER TABLE alarms ADD COLUMN goal_id TEXT;',
}
