/** Conditions of the counted states of agents; a dead agent counts only as dead. */
const STATES = {
  dead: 'died_at IS NOT NULL',
  paused: 'died_at IS NULL AND paused_at IS NOT NULL',
  waiting: 'died_at IS NULL AND paused_at IS NULL AND waiting_for IS NOT NULL',
}
const ACTIVE = "status = 'active'"

const all = ['total', ...Object.keys(STATES)]
const counts = ['count(*)', ...Object.values(STATES).map(fact => `count(*) FILTER (WHERE ${fact})`)]

/** Returns triggers that add inserted rows to the totals, or subtract deleted ones. */
const whole = (name: string, sign: '+' | '-', event: 'INSERT' | 'DELETE', rows: 'NEW' | 'OLD') => `
CREATE FUNCTION svc_totals_${name}() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
  UPDATE agent_totals SET (${all.join(', ')}) = (SELECT ${all.map((each, n) => `${each} ${sign} ${counts[n]}`).join(', ')} FROM changed);
  RETURN NULL; END $$;
CREATE TRIGGER svc_totals_${name} AFTER ${event} ON agents REFERENCING ${rows} TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION svc_totals_${name}();
CREATE FUNCTION svc_totals_goals_${name}() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
  UPDATE agent_totals SET goals_active = goals_active ${sign} active.n FROM (SELECT count(*) AS n FROM changed WHERE ${ACTIVE}) active
    WHERE active.n > 0;
  RETURN NULL; END $$;
CREATE TRIGGER svc_totals_goals_${name} AFTER ${event} ON goals REFERENCING ${rows} TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION svc_totals_goals_${name}();`

const of = (row: 'NEW' | 'OLD', fact: string) =>
  fact.replace(/\b(died_at|paused_at|waiting_for|status)\b/g, `${row}.$1`)
const differenceOf = (fact: string) => `CAST((${of('NEW', fact)}) AS INT) - CAST((${of('OLD', fact)}) AS INT)`

/**
 * Numbers of agents in each state, updated by the statements that change them, because counting a million rows is slow.
 * Writers take turns, so none waits for this one row.
 */
export const TOTALS = `
CREATE TABLE agent_totals (${[...all, 'goals_active'].map(each => `${each} BIGINT NOT NULL`).join(', ')});
INSERT INTO agent_totals SELECT ${counts.join(', ')}, (SELECT count(*) FROM goals WHERE ${ACTIVE}) FROM agents;
CREATE VIEW agent_number AS SELECT total FROM agent_totals;
${whole('more', '+', 'INSERT', 'NEW')}
${whole('less', '-', 'DELETE', 'OLD')}
CREATE FUNCTION svc_totals_moved() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
  UPDATE agent_totals SET ${Object.entries(STATES)
    .map(([name, fact]) => `${name} = ${name} + ${differenceOf(fact)}`)
    .join(', ')};
  RETURN NULL; END $$;
CREATE TRIGGER svc_totals_moved AFTER UPDATE ON agents FOR EACH ROW
  WHEN (${['died_at', 'paused_at', 'waiting_for'].map(column => `(OLD.${column} IS NULL) <> (NEW.${column} IS NULL)`).join(' OR ')})
  EXECUTE FUNCTION svc_totals_moved();
CREATE FUNCTION svc_totals_goals_moved() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
  UPDATE agent_totals SET goals_active = goals_active + ${differenceOf(ACTIVE)};
  RETURN NULL; END $$;
CREATE TRIGGER svc_totals_goals_moved AFTER UPDATE ON goals FOR EACH ROW
  WHEN ((${of('OLD', ACTIVE)}) <> (${of('NEW', ACTIVE)})) EXECUTE FUNCTION svc_totals_goals_moved();
CREATE FUNCTION svc_totals_none() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
  UPDATE agent_totals SET ${all.map(each => `${each} = 0`).join(', ')};
  RETURN NULL; END $$;
CREATE TRIGGER svc_totals_none AFTER TRUNCATE ON agents EXECUTE FUNCTION svc_totals_none();
CREATE FUNCTION svc_totals_goals_none() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
  UPDATE agent_totals SET goals_active = 0;
  RETURN NULL; END $$;
CREATE TRIGGER svc_totals_goals_none AFTER TRUNCATE ON goals EXECUTE FUNCTION svc_totals_goals_none();
-- Who is at work, among all that are not.
CREATE INDEX leases_held ON leases (agent_id) WHERE owner IS NOT NULL;
`
