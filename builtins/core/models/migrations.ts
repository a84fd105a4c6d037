/** The DDL of this module's tables, by the schema's steps in `builtins/migrations.ts`. */
export const MIGRATIONS = {
  /**
   * Facts learned about a model at one address: `facts` is JSON. `configuration` is a fingerprint of the model's
   * configuration; facts under another one do not apply.
   */
  '044-learned-models': `
CREATE TABLE learned_models (
  model TEXT NOT NULL, endpoint TEXT NOT NULL, facts TEXT NOT NULL, configuration TEXT NOT NULL, learned_at INTEGER NOT NULL,
  PRIMARY KEY (model, endpoint)
) STRICT;
`,
}
