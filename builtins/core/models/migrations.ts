/** The DDL of this module's tables, by the schema's steps in `builtins/migrations.ts`. */
export const MIGRATIONS = {
  /**
   * What refusals taught of a model at an address: `facts` is JSON. `configuration` is a fingerprint of what the operator says of the
   * model; facts of another one count no more.
   */
  '044-learned-models': `
CREATE TABLE learned_models (
  model TEXT NOT NULL, endpoint TEXT NOT NULL, facts TEXT NOT NULL, configuration TEXT NOT NULL, learned_at INTEGER NOT NULL,
  PRIMARY KEY (model, endpoint)
) STRICT;
`,
}
