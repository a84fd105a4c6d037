/** What runs that begin alike have in common is kept once: kilobytes, of which the run of a task has a few dozen bytes of its own. */
export const runSettings = `
CREATE TABLE run_settings (settings_id TEXT PRIMARY KEY, facts TEXT NOT NULL, used_at INTEGER NOT NULL) STRICT;
ALTER TABLE runs ADD COLUMN settings_id TEXT;
`
