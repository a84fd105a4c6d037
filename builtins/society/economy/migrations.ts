/** The DDL of this module's tables, by the schema's steps in `builtins/migrations.ts`. */
export const MIGRATIONS = {
  '015-economy': `
-- The last step of the world: each happens once, whole or not at all.
CREATE TABLE world_clock (id INTEGER PRIMARY KEY, beat INTEGER NOT NULL) STRICT;
INSERT INTO world_clock (id, beat) VALUES (1, 0);

CREATE TABLE world_citizens (
  agent_id TEXT PRIMARY KEY REFERENCES agents (agent_id) ON DELETE CASCADE,
  happiness INTEGER NOT NULL DEFAULT 500, health INTEGER NOT NULL DEFAULT 800, reputation INTEGER NOT NULL DEFAULT 500,
  energy INTEGER NOT NULL DEFAULT 1000, happiest INTEGER NOT NULL DEFAULT 500, saddest INTEGER NOT NULL DEFAULT 500,
  cycles_alive INTEGER NOT NULL DEFAULT 0, worked_beat INTEGER NOT NULL DEFAULT 0, worked INTEGER NOT NULL DEFAULT 0,
  plays INTEGER NOT NULL DEFAULT 0, wins INTEGER NOT NULL DEFAULT 0, sheltered INTEGER NOT NULL DEFAULT 0,
  insolvencies INTEGER NOT NULL DEFAULT 0, entered_at INTEGER NOT NULL, farewell INTEGER NOT NULL DEFAULT 0
) STRICT;

-- One holder each; an agent has at most one.
CREATE TABLE world_jobs (
  job_id TEXT PRIMARY KEY, agent_id TEXT NOT NULL UNIQUE REFERENCES agents (agent_id) ON DELETE CASCADE, since_beat INTEGER NOT NULL
) STRICT;

CREATE TABLE world_skills (
  agent_id TEXT NOT NULL REFERENCES agents (agent_id) ON DELETE CASCADE, skill TEXT NOT NULL, level INTEGER NOT NULL,
  PRIMARY KEY (agent_id, skill)
) STRICT, WITHOUT ROWID;

-- The milestones of a life, each once.
CREATE TABLE world_milestones (
  agent_id TEXT NOT NULL REFERENCES agents (agent_id) ON DELETE CASCADE, milestone TEXT NOT NULL, beat INTEGER NOT NULL,
  text TEXT NOT NULL, PRIMARY KEY (agent_id, milestone)
) STRICT, WITHOUT ROWID;

-- Double entry: each movement takes from one account what it gives to another, so that all balances together are 0.
CREATE TABLE world_accounts (account TEXT PRIMARY KEY, agent_id TEXT, balance INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE INDEX world_accounts_by_agent ON world_accounts (agent_id) WHERE agent_id IS NOT NULL;
INSERT INTO world_accounts (account) VALUES ('bank'), ('employers'), ('landlord'), ('school'), ('clinic'), ('house'), ('fortune'),
  ('escrow'), ('departed');

CREATE TABLE world_entries (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, entry_id TEXT NOT NULL UNIQUE, beat INTEGER NOT NULL, payer TEXT NOT NULL,
  payee TEXT NOT NULL, amount INTEGER NOT NULL CHECK (amount > 0), reason TEXT NOT NULL, at INTEGER NOT NULL
) STRICT;
CREATE INDEX world_entries_by_payer ON world_entries (payer, seq);
CREATE INDEX world_entries_by_payee ON world_entries (payee, seq);
CREATE INDEX world_entries_by_beat ON world_entries (beat);

-- Movements of long ago, added up.
CREATE TABLE world_carried (
  payer TEXT NOT NULL, payee TEXT NOT NULL, reason TEXT NOT NULL, amount INTEGER NOT NULL, entries INTEGER NOT NULL,
  PRIMARY KEY (payer, payee, reason)
) STRICT, WITHOUT ROWID;

-- Services between agents: an offer is bought as an order, whose price lies in escrow until the work is delivered.
CREATE TABLE world_offers (
  offer_id TEXT PRIMARY KEY, agent_id TEXT NOT NULL REFERENCES agents (agent_id) ON DELETE CASCADE, title TEXT NOT NULL,
  price INTEGER NOT NULL CHECK (price > 0), created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX world_offers_by_agent ON world_offers (agent_id);

CREATE TABLE world_orders (
  order_id TEXT PRIMARY KEY, offer_id TEXT NOT NULL, title TEXT NOT NULL, seller TEXT NOT NULL, buyer TEXT NOT NULL,
  price INTEGER NOT NULL, request TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'open', result TEXT, due_beat INTEGER NOT NULL,
  seller_told INTEGER NOT NULL DEFAULT 0, buyer_told INTEGER NOT NULL DEFAULT 0, created_at INTEGER NOT NULL, ended_at INTEGER
) STRICT;
CREATE INDEX world_orders_open ON world_orders (due_beat) WHERE status = 'open';
CREATE INDEX world_orders_by_seller ON world_orders (seller) WHERE seller_told = 0;
CREATE INDEX world_orders_by_buyer ON world_orders (buyer) WHERE buyer_told = 0;

-- What happened to agents. A waiting event has not been decided; asked_until: the agent's model is being asked until then.
CREATE TABLE life_events (
  life_event_id TEXT PRIMARY KEY, agent_id TEXT NOT NULL REFERENCES agents (agent_id) ON DELETE CASCADE, beat INTEGER NOT NULL,
  event TEXT NOT NULL, category TEXT NOT NULL, origin TEXT NOT NULL, situation TEXT NOT NULL,
  status TEXT NOT NULL DEFAULT 'waiting', asked_until INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0,
  choice INTEGER, chosen_by TEXT, luck INTEGER, effects TEXT, summary TEXT, at INTEGER NOT NULL, decided_at INTEGER,
  remembered INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX life_events_by_beat ON life_events (agent_id, beat);
CREATE UNIQUE INDEX life_events_waiting ON life_events (agent_id) WHERE status = 'waiting';
CREATE INDEX life_events_to_remember ON life_events (decided_at) WHERE status = 'decided' AND remembered = 0;

CREATE TABLE life_follow_ups (
  follow_up_id TEXT PRIMARY KEY, agent_id TEXT NOT NULL REFERENCES agents (agent_id) ON DELETE CASCADE, event TEXT NOT NULL,
  due_beat INTEGER NOT NULL
) STRICT;
CREATE INDEX life_follow_ups_due ON life_follow_ups (agent_id, due_beat);
`,
}
