/**
 * The folders that the operator gave to an agent, as JSON: `[{ path, access }]`; NULL where it has its own only. Its column
 * `workspace` is the one of them that it works in; an empty string for its own.
 */
export const givenFolders = 'ALTER TABLE agents ADD COLUMN folders TEXT;'
