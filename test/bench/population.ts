import Sqlite from 'better-sqlite3'

export interface Population {
  agents: number
  /** Number of goals of each agent, all but one of them completed. */
  goals?: number
  /**
   * Time at which the first agent is due, and the period over which all become due, in milliseconds from now; all at
   * once by default.
   */
  due?: { from: number; over: number }
}

/** Inserts coders into a database that no other process writes to. */
export function populate(file: string, { agents, goals = 1, due }: Population): void {
  const db = new Sqlite(file)
  const now = Date.now()
  const many = 'WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?)'
  const insert = (into: string, select: string, ...params: unknown[]) =>
    db.prepare(`INSERT INTO ${into} ${many} ${select}`).run(...params)
  db.transaction(() => {
    insert(
      'agents (agent_id, name, role, preset, spawned_at)',
      "SELECT printf('coder-%08x', i), 'coder', 'writes and repairs code', 'coder', i FROM n",
      agents,
    )
    insert(
      'leases (id, agent_id, run_at)',
      "SELECT printf('coder-%08x', i), printf('coder-%08x', i), CAST(? + ? * i / ? AS INTEGER) FROM n",
      agents,
      due ? now + due.from : 0,
      due?.over ?? 0,
      agents,
    )
    insert(
      'goals (goal_id, agent_id, objective, created_at, status, completed_at)',
      `SELECT printf('goal-%d', i), printf('coder-%08x', i / ?), 'Repair the build, and say why it broke.', i,
         CASE WHEN i % ? = 0 THEN 'active' ELSE 'completed' END, CASE WHEN i % ? = 0 THEN NULL ELSE i END FROM n`,
      agents * goals,
      goals,
      goals,
      goals,
    )
  })()
  db.close()
}
