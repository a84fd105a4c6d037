/**
 * Agents at rest. passed: how many of its cycles were passed with those of others, since there was nothing to do; in an inner
 * life, how many of them it has lived. look_at: when that is looked at again though nothing happens.
 */
export const rest = `
ALTER TABLE leases ADD COLUMN passed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inner_lives ADD COLUMN passed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inner_lives ADD COLUMN look_at INTEGER NOT NULL DEFAULT 0;
`
