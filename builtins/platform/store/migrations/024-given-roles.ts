/** The role that an agent was given by itself; one without lives by that of its preset, as the preset is now. */
export const givenRoles = `
ALTER TABLE agents ADD COLUMN given_role TEXT;
`
