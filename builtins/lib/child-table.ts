/**
 * Returns the first two schema steps of a table whose rows belong to an agent: without and with cascading deletes.
 * SQLite cannot change a foreign key, so the second rebuilds the table and copies its rows.
 * @param columns `@` stands for the reference to the agent
 */
export function childTable(name: string, columns: string): { created: string; cascading: string } {
  const table = (cascade: string) =>
    `CREATE TABLE ${name} (${columns.replace('@', `REFERENCES agents (agent_id)${cascade}`)}) STRICT;`
  return {
    created: table(''),
    cascading: `
ALTER TABLE ${name} RENAME TO ${name}_before;
${table(' ON DELETE CASCADE')}
INSERT INTO ${name} SELECT * FROM ${name}_before;
DROP TABLE ${name}_before;`,
  }
}
