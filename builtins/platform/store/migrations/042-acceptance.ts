/**
 * `acceptance`: a JSON array of what must hold before a goal counts as reached, each with what came of the last check. `refusals`: how
 * often its end was refused for that. `claims_refused`: whether it was refused for evidence that was not there.
 */
export const acceptance = `
ALTER TABLE goals ADD COLUMN acceptance TEXT;
ALTER TABLE goals ADD COLUMN refusals INTEGER NOT NULL DEFAULT 0;
ALTER TABLE goals ADD COLUMN claims_refused INTEGER NOT NULL DEFAULT 0;
`
