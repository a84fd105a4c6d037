import { CHILDREN, table } from './001-first.ts'

/** SQLite cannot change a foreign key: each child is built anew and its rows are copied. */
export const cascades = Object.entries(CHILDREN)
  .map(
    ([name, columns]) => `
ALTER TABLE ${name} RENAME TO ${name}_before;
${table(name, columns, ' ON DELETE CASCADE')}
INSERT INTO ${name} SELECT * FROM ${name}_before;
DROP TABLE ${name}_before;`,
  )
  .join('\n')
