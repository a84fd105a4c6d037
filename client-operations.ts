// biome-ignore-all format: made from the operations; make it anew with: npx vitest run test/faces/client-operations.test.ts -u

/** What each operation takes and gives. */
export interface Operations {
  /** Kill an agent: it is removed with all of its records, its files go to .svc/attic. */
  'agents.delete': { input: { id: string }; output: null }
  /** List agents at a glance, with totals. */
  'agents.fleet': { input: { status?: 'working' | 'idle' | 'waiting' | 'waiting_approval' | 'paused' | 'dead' | 'stuck' | undefined; all?: boolean | undefined; q?: string | undefined; sort?: 'need' | 'name' | '-name' | 'status' | '-status' | 'next' | '-next' | 'active' | '-active' | 'cost' | '-cost' | undefined; limit?: number | undefined; offset?: number | undefined }; output: Fleet }
  /** One agent in full. */
  'agents.get': { input: { id: string }; output: Agent }
  /** List agents, oldest first. */
  'agents.list': { input: { limit?: number | undefined; offset?: number | undefined; status?: 'working' | 'idle' | 'waiting' | 'waiting_approval' | 'paused' | 'dead' | undefined; all?: boolean | undefined }; output: AgentSummary[] }
  /** Leave a message for an agent; it reads it before its next model call. */
  'agents.nudge': { input: { id: string; message: string }; output: { nudge_id: string } }
  /** Pause an agent: the daemon skips it until it is resumed, also over restarts. */
  'agents.pause': { input: { id?: string | undefined; all?: boolean | undefined }; output: { agent_id: string; status: 'working' | 'idle' | 'waiting' | 'waiting_approval' | 'paused' | 'dead' } }
  /** Resume a paused agent. */
  'agents.resume': { input: { id?: string | undefined; all?: boolean | undefined }; output: { agent_id: string; status: 'working' | 'idle' | 'waiting' | 'waiting_approval' | 'paused' | 'dead' } }
  /** Spawn an agent from a preset. */
  'agents.spawn': { input: { preset: string; model?: string | null | undefined }; output: Agent }
  /** What an agent is good at, by its last 200 goals. */
  'agents.specialization': { input: { id: string }; output: Specialization }
  /** Show the agents' status. */
  'agents.status': { input: { limit?: number | undefined; offset?: number | undefined; status?: 'working' | 'idle' | 'waiting' | 'waiting_approval' | 'paused' | 'dead' | undefined; all?: boolean | undefined }; output: StatusEntry[] }
  /** Change an agent's model or role. */
  'agents.update': { input: { id: string; model?: string | undefined; role?: string | undefined }; output: Agent }
  /** When an agent does something again, and why not before. */
  'agents.why': { input: { id: string }; output: { at: string | null; reason: string; agent_id: string; status: 'working' | 'idle' | 'waiting' | 'waiting_approval' | 'paused' | 'dead' } }
  /** Alarms that are to go off, of all agents or of one, the next one first. */
  'alarms.all': { input: { agent?: string | undefined; all?: boolean | undefined }; output: Alarm[] }
  /** Take back an alarm that has not gone off. */
  'alarms.cancel': { input: { alarm_id: string }; output: null }
  /** One alarm that is to go off. */
  'alarms.get': { input: { alarm_id: string }; output: Alarm }
  /** An agent's alarms that are to go off, the next one first. */
  'alarms.list': { input: { id: string }; output: Alarm[] }
  /** Have an agent told something at a time. */
  'alarms.set': { input: { id: string; at: string; description: string }; output: Alarm }
  /** Move an alarm, or change what it says. */
  'alarms.update': { input: { alarm_id: string; at?: string | undefined; description?: string | undefined }; output: Alarm }
  /** Approve or deny a tool call by the id of its approval. */
  'approvals.decide': { input: { approval_id: string; decision?: 'approve' | 'deny' | undefined; reason?: string | null | undefined; arguments?: Record<string, unknown> | undefined }; output: { approval_id: string; agent_id: string; tool_name: string; danger: string | null; arguments: unknown; args_chars: number; args_sha256: string; status: 'pending' | 'approved' | 'denied' | 'consumed'; created_at: string; expires_at: string | null; session_id: string | null; goal_id: string | null; task_id: string | null; reason: string | null; edited: boolean; resolved_at: string | null; resolved_by: string | null; original_arguments: unknown; used_at: string | null; call_id: string | null } }
  /** One approval of an agent, with all of its arguments. */
  'approvals.get': { input: { id: string; approval_id: string }; output: { approval_id: string; agent_id: string; tool_name: string; danger: string | null; arguments: unknown; args_chars: number; args_sha256: string; status: 'pending' | 'approved' | 'denied' | 'consumed'; created_at: string; expires_at: string | null; session_id: string | null; goal_id: string | null; task_id: string | null; reason: string | null; edited: boolean; resolved_at: string | null; resolved_by: string | null; original_arguments: unknown; used_at: string | null; call_id: string | null } }
  /** Let matching calls of a tool run without asking, until a time or for a number of times. */
  'approvals.grant': { input: { tool_name: string; agent?: string | undefined; arguments?: Record<string, unknown> | null | undefined; until?: string | undefined; uses?: number | undefined; reason?: string | undefined }; output: { rule_id: string; agent_id: string | null; tool_name: string; arguments: Record<string, unknown> | null; until: string | null; uses: number | null; used: number; active: boolean; reason: string | null; created_at: string; created_by: string; revoked_at: string | null; revoked_by: string | null } }
  /** An agent's tool calls that wait for a decision, or its history of them. */
  'approvals.list': { input: { limit?: number | undefined; offset?: number | undefined; id: string; status?: 'pending' | 'approved' | 'denied' | 'consumed' | 'decided' | 'all' | undefined }; output: { approval_id: string; agent_id: string; tool_name: string; danger: string | null; arguments: unknown; args_chars: number; args_sha256: string; status: 'pending' | 'approved' | 'denied' | 'consumed'; created_at: string; expires_at: string | null; session_id: string | null; goal_id: string | null; task_id: string | null; reason: string | null; edited: boolean; resolved_at: string | null; resolved_by: string | null }[] }
  /** Tool calls of all agents that wait for a decision, oldest first. */
  'approvals.queue': { input: { limit?: number | undefined; offset?: number | undefined; status?: 'pending' | 'approved' | 'denied' | 'consumed' | 'decided' | 'all' | undefined }; output: { approval_id: string; agent_id: string; tool_name: string; danger: string | null; arguments: unknown; args_chars: number; args_sha256: string; status: 'pending' | 'approved' | 'denied' | 'consumed'; created_at: string; expires_at: string | null; session_id: string | null; goal_id: string | null; task_id: string | null; reason: string | null; edited: boolean; resolved_at: string | null; resolved_by: string | null }[] }
  /** Approve or deny a tool call of an agent; with other arguments than it asked for, if they are given. */
  'approvals.resolve': { input: { approval_id: string; decision?: 'approve' | 'deny' | undefined; reason?: string | null | undefined; arguments?: Record<string, unknown> | undefined; id: string }; output: { approval_id: string; agent_id: string; tool_name: string; danger: string | null; arguments: unknown; args_chars: number; args_sha256: string; status: 'pending' | 'approved' | 'denied' | 'consumed'; created_at: string; expires_at: string | null; session_id: string | null; goal_id: string | null; task_id: string | null; reason: string | null; edited: boolean; resolved_at: string | null; resolved_by: string | null; original_arguments: unknown; used_at: string | null; call_id: string | null } }
  /** Take back a standing grant. */
  'approvals.revoke': { input: { rule_id: string }; output: null }
  /** One standing grant. */
  'approvals.rule': { input: { rule_id: string }; output: { rule_id: string; agent_id: string | null; tool_name: string; arguments: Record<string, unknown> | null; until: string | null; uses: number | null; used: number; active: boolean; reason: string | null; created_at: string; created_by: string; revoked_at: string | null; revoked_by: string | null } }
  /** Standing grants: calls that match one run without asking. */
  'approvals.rules': { input: { all?: boolean | undefined }; output: { rule_id: string; agent_id: string | null; tool_name: string; arguments: Record<string, unknown> | null; until: string | null; uses: number | null; used: number; active: boolean; reason: string | null; created_at: string; created_by: string; revoked_at: string | null; revoked_by: string | null }[] }
  /** One approval, with all of its arguments. */
  'approvals.show': { input: { approval_id: string }; output: { approval_id: string; agent_id: string; tool_name: string; danger: string | null; arguments: unknown; args_chars: number; args_sha256: string; status: 'pending' | 'approved' | 'denied' | 'consumed'; created_at: string; expires_at: string | null; session_id: string | null; goal_id: string | null; task_id: string | null; reason: string | null; edited: boolean; resolved_at: string | null; resolved_by: string | null; original_arguments: unknown; used_at: string | null; call_id: string | null } }
  /** Count what is spent from 0 again. */
  'budget.reset': { input: Record<never, never>; output: { spent: { usd: number; tokens: number }; remaining: { usd: number | null; tokens: number | null }; reserved: { usd: number; tokens: number }; limits: { usd: number | null; tokens: number | null }; mode: 'reserve' | 'record_only'; exceeded: boolean; tight: boolean; unlimited: boolean; message: string; approximate: { usd: number; tokens: number }; unconfirmed: { usd: number; tokens: number }; unpriced_tokens: number; window_began_at: string | null; problem: string | null } }
  /** What was spent over time, by agent, by model or by what it was for, oldest first. */
  'budget.spending': { input: { bucket?: 'minute' | 'hour' | 'day' | undefined; by?: 'agent' | 'model' | 'kind' | undefined; since?: string | undefined }; output: Spending[] }
  /** What was spent, what is held for model calls, and what is left. */
  'budget.status': { input: Record<never, never>; output: { spent: { usd: number; tokens: number }; remaining: { usd: number | null; tokens: number | null }; reserved: { usd: number; tokens: number }; limits: { usd: number | null; tokens: number | null }; mode: 'reserve' | 'record_only'; exceeded: boolean; tight: boolean; unlimited: boolean; message: string; approximate: { usd: number; tokens: number }; unconfirmed: { usd: number; tokens: number }; unpriced_tokens: number; window_began_at: string | null; problem: string | null } }
  /** An agent as a bundle: who it is, its goals, memory, schedules and all else that makes another one of it. */
  'bundles.export': { input: { id: string }; output: Bundle }
  /** Make an agent of a bundle; each time another one. */
  'bundles.import': { input: { bundle: Record<string, unknown>; preset?: string | undefined; model?: string | undefined }; output: { agent_id: string; was: string; preset: string; parts: string[]; left_out: string[]; profile_written: string | null } }
  /** Delete a checkpoint. */
  'checkpoints.delete': { input: { id: string; checkpoint_id: string }; output: null }
  /** What has changed from one checkpoint to another, or to now. */
  'checkpoints.diff': { input: { id: string; checkpoint_id: string; to?: string | undefined }; output: { op: 'add' | 'remove' | 'replace'; path: string; value?: unknown | undefined; was?: unknown | undefined }[] }
  /** One checkpoint in full. */
  'checkpoints.get': { input: { id: string; checkpoint_id: string }; output: Checkpoint }
  /** The checkpoints of an agent, the newest first. */
  'checkpoints.list': { input: { limit?: number | undefined; offset?: number | undefined; id: string }; output: { checkpoint_id: string; agent_id: string; label: string; origin: 'asked' | 'automatic'; created_at: string; number: number; cycle_num: number; parts: string[]; bytes: number }[] }
  /** Delete all but the newest checkpoints of an agent. */
  'checkpoints.prune': { input: { id: string; keep?: number | undefined }; output: { removed: string[] } }
  /** Bring an agent back to a checkpoint; what it was is kept as a checkpoint first. */
  'checkpoints.restore': { input: { id: string; checkpoint_id: string }; output: { agent_id: string; checkpoint_id: string; before: string; left_out: string[] } }
  /** Keep an agent as it stands: its goals, how it fares, who it is, what it has. */
  'checkpoints.take': { input: { id: string; label?: string | undefined }; output: { checkpoint_id: string; agent_id: string; label: string; origin: 'asked' | 'automatic'; created_at: string; number: number; cycle_num: number; parts: string[]; bytes: number } }
  /** Have a node take no more agents: what it runs comes to its end, and others take over. */
  'cluster.drain': { input: { node: string }; output: { node: string; draining: boolean } }
  /** Have a node that was drained take agents again. */
  'cluster.resume': { input: { node: string }; output: { node: string; draining: boolean } }
  /** The processes that drive agents of this database: where they are, what they run, what they do not agree in. */
  'cluster.status': { input: Record<never, never>; output: { nodes: ClusterNode[]; warnings: string[] } }
  /** The configuration: on disk, with the environment over it, and in force. */
  'config.get': { input: Record<never, never>; output: { persisted: Record<string, unknown>; effective: Record<string, unknown>; live?: Record<string, unknown> | undefined; restart_required_fields: string[]; sources: Record<string, 'file' | 'env' | 'default'>; problem?: string | undefined } }
  /** All keys that may be set, with their schemas, values and reload classes. */
  'config.keys': { input: Record<never, never>; output: ConfigKey[] }
  /** Merge keys into the configuration file. */
  'config.patch': { input: Record<string, unknown>; output: { config: Record<string, unknown>; reload: Record<string, 'applied' | 'restart_required'> } }
  /** Take one key out of the configuration file, back to its default. */
  'config.unset': { input: { key: string }; output: { key: string; value: unknown; reload: 'applied' | 'restart_required' | null; overridden_by: string | null } }
  /** One key of the configuration, with where its value comes from. */
  'config.value': { input: { key: string }; output: { key: string; value: unknown; source: 'file' | 'env' | 'default'; default: unknown; env: string | null; reload: 'applied' | 'restart_required'; description: string } }
  /** Freeze the daemon: no agent enters a phase and nothing is spent, until it is resumed. */
  'daemon.pause': { input: Record<never, never>; output: { status: 'paused' | 'running'; frozen_since: string | null } }
  /** End the freeze: agents go on with their next heartbeat. */
  'daemon.resume': { input: Record<never, never>; output: { status: 'paused' | 'running'; frozen_since: string | null } }
  /** Show the daemon's status. */
  'daemon.status': { input: Record<never, never>; output: { running: boolean; health: 'healthy' | 'stalled' | 'dead' | 'stopped'; problem: string | null; pid: number | null; started_at: string | null; uptime_s: number | null; last_tick_at: string | null; last_tick_age_s: number | null; joined: { pid: number; health: 'healthy' | 'stalled'; started_at: string; last_tick_age_s: number }[]; heartbeat_s: number; frozen: boolean; frozen_since: string | null; in_flight: number; agents: Record<string, number>; budget: string | null } }
  /** What was delegated by whom to whom, newest first. */
  'delegations.all': { input: { limit?: number | undefined; offset?: number | undefined }; output: Delegation[] }
  /** What an agent delegated to others and took from them, newest first. */
  'delegations.list': { input: { limit?: number | undefined; offset?: number | undefined; id: string }; output: Delegation[] }
  /** How the rooms and plugins of this process stand; svc doctor looks at the machine too. */
  'doctor.checks': { input: Record<never, never>; output: DoctorReport[] }
  /** How an agent stands in the world: balance, job, skills, health, energy, happiness, reputation. */
  'economy.citizen': { input: { id: string }; output: Citizen }
  /** The world's accounts and the proof that they balance, with the newest movements of all or of one agent. */
  'economy.ledger': { input: { agent?: string | undefined; limit?: number | undefined; offset?: number | undefined }; output: Ledger }
  /** What happened to an agent and what it chose, newest first. */
  'economy.life': { input: { limit?: number | undefined; offset?: number | undefined; id: string }; output: LifeMoment[] }
  /** The world: jobs with their holders, courses, offers, prices and odds. */
  'economy.world': { input: Record<never, never>; output: World }
  /** What happens, as it happens: a durable stream of lifecycle events, oldest first. */
  'events.follow': { input: { agent_id?: string | undefined; type?: string[] | undefined; after?: number | undefined; last?: number | undefined; follow?: boolean | undefined; notices?: boolean | undefined }; events: { open: { after: number }; message: { seq: number; type: string; v: number; at: string; agent_id: string | null; cycle_num: number | null; run_id: string | null; data: Record<string, unknown> }; notice: { type: 'status_changed'; data: { daemon: 'healthy' | 'stalled' | 'dead' | 'stopped'; plugins: number; agents: Record<string, number> } } | { type: 'config_changed'; data: { keys: string[] } } | { type: 'plugin_reloaded'; data: { plugin: string; outcome: string } } } }
  /** An agent's events, newest first. */
  'events.list': { input: { limit?: number | undefined; offset?: number | undefined; id: string; type?: string[] | undefined }; output: { seq: number; type: string; v: number; at: string; agent_id: string | null; cycle_num: number | null; run_id: string | null; data: Record<string, unknown> }[] }
  /** Give up an active goal, and its subgoals with it. */
  'goals.abandon': { input: { goal_id: string; reason?: string | undefined }; output: Goal }
  /** Give up goals in flight: one, all of an agent, or all there are. */
  'goals.abandon_all': { input: { goal_id?: string | undefined; agent?: string | undefined; all?: boolean | undefined; reason?: string | undefined }; output: Goal[] }
  /** Give an agent a goal; it is pursued as soon as no other goal has a higher priority. */
  'goals.add': { input: { id: string; objective: string; priority?: number | undefined; parent_goal_id?: string | null | undefined }; output: Goal }
  /** The tools that were called for a goal, newest first. */
  'goals.calls': { input: { limit?: number | undefined; offset?: number | undefined; goal_id: string }; output: ToolCall[] }
  /** Show how full an agent's context window is. */
  'goals.context': { input: { id: string }; output: AgentContext }
  /** One goal. */
  'goals.get': { input: { goal_id: string }; output: Goal }
  /** An agent's goals, newest first. */
  'goals.history': { input: { id: string; limit?: number | undefined; offset?: number | undefined }; output: Goal[] }
  /** All goals of an agent, newest first. */
  'goals.list': { input: { id: string }; output: Goal[] }
  /** Show what was said in the pursuit of a goal, oldest first. */
  'goals.transcript': { input: { goal_id: string }; output: SaidMessage[] }
  /** Change an active goal's priority. */
  'goals.update': { input: { goal_id: string; priority: number }; output: Goal }
  /** Try the guardrails on a text. */
  'guardrails.check': { input: { text: string; stage?: 'input' | 'peer' | 'output' | 'tool_arguments' | 'tool_result' | 'memory' | undefined }; output: { enabled: boolean; action: 'pass' | 'flag' | 'redact' | 'block'; text: string; findings: { rule: string; kind: string; start: number; end: number; action: 'flag' | 'redact' | 'block' }[] } }
  /** Whether the server is up and reaches its database. */
  'health.check': { input: Record<never, never>; output: { status: 'ok' | 'degraded'; database: boolean } }
  /** An agent's life as a page of Markdown. */
  'identity.biography': { input: { id: string }; output: string }
  /** Who an agent has become: its story, opinions and questions. */
  'identity.get': { input: { id: string }; output: Identity }
  /** What an agent wrote for itself. */
  'identity.journal': { input: { id: string; bytes?: number | undefined }; output: { agent_id: string; text: string; bytes: number; modified_at: string | null } }
  /** The journals that there are, the one written in last first. */
  'identity.journals': { input: { limit?: number | undefined }; output: { agent_id: string; bytes: number; modified_at: string; last_line: string }[] }
  /** The lives of all agents, dead and living, oldest first. */
  'identity.lives': { input: { limit?: number | undefined; offset?: number | undefined }; output: { agent_id: string; display_name: string; name: string; status: 'working' | 'idle' | 'waiting' | 'waiting_approval' | 'paused' | 'dead'; born_at: string; died_at: string | null; cycles_lived: number; goals_completed: number; goals_abandoned: number } & Record<string, unknown>[] }
  /** Accept what a pinned MCP server says of a tool now, or of all its tools. */
  'mcp_servers.accept': { input: { name: string; tool?: string | undefined }; output: McpServer }
  /** The MCP servers whose tools agents are given, how they are, and what they offer. */
  'mcp_servers.list': { input: Record<never, never>; output: McpServer[] }
  /** Start an MCP server anew, at once, and list its tools again. */
  'mcp_servers.restart': { input: { name: string }; output: McpServer }
  /** Remove what an agent has not needed for long. */
  'memory.consolidate': { input: { id: string; max_age_days?: number | undefined; min_access?: number | undefined }; output: { removed: number } }
  /** Make an agent forget one record. */
  'memory.forget': { input: { id: string; memory_id: string }; output: null }
  /** One record of what an agent remembers. */
  'memory.get': { input: { id: string; memory_id: string }; output: { memory_id: string; thought: string; metadata: Record<string, unknown>; ts: string; access_count: number; last_accessed: string | null } }
  /** What an agent remembers: nearest to a query first, or newest first without one. */
  'memory.list': { input: { limit?: number | undefined; offset?: number | undefined; id: string; query?: string | undefined }; output: { memory_id: string; thought: string; metadata: Record<string, unknown>; ts: string; access_count: number; last_accessed: string | null; score: number | null }[] }
  /** One message. */
  'messages.get': { input: { message_id: string }; output: A2AMessage }
  /** Who talks to whom, how much and by which types of messages. */
  'messages.graph': { input: { since?: string | undefined; limit?: number | undefined }; output: MessageGraph }
  /** The messages that an agent received and sent, newest first. */
  'messages.list': { input: { limit?: number | undefined; offset?: number | undefined; id: string; box?: 'inbox' | 'outbox' | 'all' | undefined; unread?: boolean | undefined; type?: 'request' | 'response' | 'query' | 'answer' | 'review' | 'feedback' | 'delegate' | 'ack' | 'reject' | undefined; peer?: string | undefined }; output: A2AMessage[] }
  /** Send a message to an agent, as the operator; its answer goes to `operator`. */
  'messages.send': { input: { id: string; body: string; type?: 'request' | 'response' | 'query' | 'answer' | 'review' | 'feedback' | 'delegate' | 'ack' | 'reject' | undefined; subject?: string | undefined; reply_to?: string | undefined; priority?: number | undefined }; output: { message_id: string; answer: A2AMessage | null } }
  /** A whole thread, oldest first, by any of its messages. */
  'messages.thread': { input: { message_id: string }; output: A2AMessage[] }
  /** The threads in which an agent takes part, the liveliest first. */
  'messages.threads': { input: { limit?: number | undefined; offset?: number | undefined; id: string }; output: { thread_id: string; subject: string; with: string; messages: number; unread: number; last_at: string }[] }
  /** What is measured, in the text format of Prometheus. */
  'metrics.get': { input: Record<never, never>; output: string }
  /** Providers, their tiers and prices, how they fare, and the default model. */
  'models.list': { input: { stale?: boolean | undefined }; output: { default: { model: string; provider: string; notice: string | null } | null; error: string | null; in_use: { model: string; priced: 'catalogue' | 'free' | 'unknown'; free_because: string | null; context_window: number | null; max_output_tokens: number | null }[]; unknown_price: 'refuse' | 'approve' | null; providers: { name: string; available: boolean; reason: string | null; notice: string | null; free: boolean; free_because: string | null; tiers: Record<string, string>; traffic: { breaker: 'closed' | 'open' | 'half_open'; failures: number; last_failure: string | null; retry_in_ms: number | null; backing_off_ms: number; in_flight: number; waiting: number; max_concurrent: number } }[]; listed: 'all' | 'stale'; prices: { model: string; input: number; output: number; cached_input: number | null; cache_write: number | null; long_prompt: { above: number; input: number; output: number; cached_input: number | null; cache_write: number | null } | null; context_window: number | null; max_output_tokens: number | null; as_of: string | null; source: string | null; verified: boolean; configured: boolean; stale: boolean }[] } }
  /** The notes that an agent has written down, newest first. */
  'notes.list': { input: { limit?: number | undefined; offset?: number | undefined; id: string; query?: string | undefined }; output: Note[] }
  /** This API as an OpenAPI document. */
  'openapi.get': { input: Record<never, never>; output: Record<string, unknown> }
  /** End a pattern that runs; what was sent and not read is withdrawn. */
  'patterns.cancel': { input: { pattern_id: string }; output: PatternRun }
  /** How far a pattern is, and what came of it. */
  'patterns.get': { input: { pattern_id: string }; output: PatternRun }
  /** The collaboration patterns that there are. */
  'patterns.list': { input: Record<never, never>; output: { name: string; summary: string; min: number; max: number; rounds: number }[] }
  /** What was said in a pattern, oldest first. */
  'patterns.messages': { input: { pattern_id: string }; output: { message_id: string; type: 'request' | 'response' | 'query' | 'answer' | 'review' | 'feedback' | 'delegate' | 'ack' | 'reject'; from_agent: string; to_agent: string; subject: string; body: string; reply_to: string | null; ts: string }[] }
  /** Patterns that run and ran, newest first. */
  'patterns.runs': { input: { limit?: number | undefined; offset?: number | undefined }; output: PatternRun[] }
  /** Let agents work together by a pattern: it runs to its end by their messages. */
  'patterns.start': { input: { name: string; initiator: string; participants: string[] | string; task: string; rounds?: number | undefined; budget_usd?: number | undefined; budget_tokens?: number | undefined; timeout?: number | undefined }; output: PatternRun }
  /** List the plugins, what each registered, and why those that failed did. */
  'plugins.list': { input: Record<never, never>; output: { name: string; state: 'live' | 'suspended' | 'failed' | 'disabled' | 'unloaded'; origin: string; version: string; description: string; registered: string[]; error: string | null; calls: number; failures: number; last_failure: string | null; load_ms: number; swaps: number; swap_ms: number | null; swapped_at: string | null }[] }
  /** Apply changes in the plugin folders now. */
  'plugins.reload': { input: { name?: string | undefined }; output: { plugin: string; origin: string; outcome: 'loaded' | 'reloaded' | 'removed' | 'failed' | 'rolled_back'; error: string | null }[] }
  /** The presets that agents can be spawned from, or one of them in full. */
  'profiles.list': { input: { name?: string | undefined }; output: { name: string; file: string; error: string | null; profile: { name: string; role: string; model: string; fallback: string[]; personality: { traits: string[]; style: string }; persona: { values: string[]; fears: string[]; purpose: string; goals: string[]; risk_tolerance: number; social_drive: number; concentration: number; autonomy_level: number; happiness: number } | null; max_steps: number; temperature: number; max_tokens: number; max_cost_usd: number; max_total_cost_usd: number; system_prompt: string; skills: string[]; toolkits: string[] | null; tools: string[] | null; workspace: string; autonomy: string } | null }[] }
  /** Where two runs part, and what each did and cost, in all and from there on. */
  'recordings.diff': { input: { a: string; b: string }; output: RunDiff }
  /** What is recorded of a run, and the answers of models in it, by number. */
  'recordings.get': { input: { id: string }; output: { run_id: string; kind: string; within: string | null; v: number; svc_version: string; started_at: string; ended_at: string | null; seed: number; pid: number; owner: string; state: string | null; state_bytes: number; bytes: number; cycles: number; steps: number; cut: string | null; inexact: string[]; events_of: string; last_seq: number | null; forked_from: { run_id: string; step: number; at: string | null; model: string | null; plugin: string | null } | null; plugins: string[] | null; steps_taken: RecordedStep[] } }
  /** Runs that are recorded, forks among them, newest first. */
  'recordings.list': { input: Record<never, never>; output: { run_id: string; kind: string; within: string | null; v: number; svc_version: string; started_at: string; ended_at: string | null; seed: number; pid: number; owner: string; state: string | null; state_bytes: number; bytes: number; cycles: number; steps: number; cut: string | null; inexact: string[]; events_of: string; last_seq: number | null; forked_from: { run_id: string; step: number; at: string | null; model: string | null; plugin: string | null } | null; plugins: string[] | null }[] }
  /** Repeat a run offline and compare the event log; with `from`, leave it at a step and live on. */
  'recordings.replay': { input: { id: string; from?: number | undefined; model?: string | undefined; cycles?: number | undefined }; output: { verdict: ReplayVerdict | null; fork: { run_id: string; kind: string; within: string | null; v: number; svc_version: string; started_at: string; ended_at: string | null; seed: number; pid: number; owner: string; state: string | null; state_bytes: number; bytes: number; cycles: number; steps: number; cut: string | null; inexact: string[]; events_of: string; last_seq: number | null; forked_from: { run_id: string; step: number; at: string | null; model: string | null; plugin: string | null } | null; plugins: string[] | null } | null; diff: RunDiff | null } }
  /** Remove what is older than retention.days and of no use any more; nothing that is pending or active. */
  'retention.run': { input: { dry_run?: boolean | undefined }; output: { dry_run: boolean; before: string; rows: Record<string, number>; total: number; freed_bytes: number; duration_ms: number } }
  /** A run as one HTML page that needs nothing else: summary, timeline, cost, steps, transcripts, messages. */
  'runs.export': { input: { id: string; limit?: number | undefined }; output: string }
  /** One run: what happened in it, and what it was made of. */
  'runs.get': { input: { id: string }; output: RunDetail }
  /** Runs of the daemon and of one-shot tasks, newest first. */
  'runs.list': { input: { limit?: number | undefined; offset?: number | undefined }; output: Run[] }
  /** A run as a tree of spans: run, agents, goals, decisions and tool calls. */
  'runs.trace': { input: { run_id: string; agent_id?: string | undefined; limit?: number | undefined; after?: number | undefined; before?: number | undefined; newest?: boolean | undefined }; output: Trace }
  /** Say what stands between the programs that agents run and this machine. */
  'sandbox.status': { input: Record<never, never>; output: SandboxStatus }
  /** Give an agent a goal again and again: every so many cycles, every so many seconds, or by the calendar. */
  'schedules.add': { input: { id: string; objective: string; every_n_cycles?: number | undefined; every?: number | undefined; cron?: string | undefined; time_zone?: string | undefined; missed?: 'once' | 'skip' | undefined; priority?: number | undefined }; output: Schedule }
  /** Goals that come again and again, of all agents or of one. */
  'schedules.all': { input: { agent?: string | undefined }; output: Schedule[] }
  /** One schedule. */
  'schedules.get': { input: { schedule_id: string }; output: Schedule }
  /** An agent's schedules, oldest first. */
  'schedules.list': { input: { id: string }; output: Schedule[] }
  /** Remove a schedule; goals that came of it stay. */
  'schedules.remove': { input: { schedule_id: string }; output: null }
  /** Enable or disable a schedule; what it missed while disabled is forgotten. */
  'schedules.update': { input: { schedule_id: string; enabled: boolean }; output: Schedule }
  /** Close a session, and end what runs or waits in it; it stays as a record. */
  'sessions.close': { input: { session_id: string }; output: null }
  /** Open a session with an agent, or find the running one of this user and key. */
  'sessions.create': { input: { agent_id: string; session_key?: string | null | undefined; task?: string | undefined; metadata?: Record<string, unknown> | null | undefined }; output: { session_id: string; agent_id: string; user_id: string; session_key: string | null; task: string; status: 'running' | 'expired' | 'closed'; started_at: string; last_active: string; completed_at: string | null; cost_usd: number; tokens: number; input_tokens: number; output_tokens: number; duration_ms: number; metadata: Record<string, unknown> | null; created: boolean } }
  /** One session. */
  'sessions.get': { input: { session_id: string }; output: { session_id: string; agent_id: string; user_id: string; session_key: string | null; task: string; status: 'running' | 'expired' | 'closed'; started_at: string; last_active: string; completed_at: string | null; cost_usd: number; tokens: number; input_tokens: number; output_tokens: number; duration_ms: number; metadata: Record<string, unknown> | null } }
  /** Sessions of this user, newest first. */
  'sessions.list': { input: { limit?: number | undefined; offset?: number | undefined; agent_id?: string | undefined }; output: { session_id: string; agent_id: string; user_id: string; session_key: string | null; task: string; status: 'running' | 'expired' | 'closed'; started_at: string; last_active: string; completed_at: string | null; cost_usd: number; tokens: number; input_tokens: number; output_tokens: number; duration_ms: number; metadata: Record<string, unknown> | null }[] }
  /** Back up the database to a new file in .svc/backups/. */
  'store.backup': { input: Record<never, never>; output: DatabaseBackup }
  /** An agent's sub-agents, newest first, with the results of those that have ended. */
  'sub_agents.list': { input: { id: string }; output: SubAgent[] }
  /** How an agent suffers, and how it came to that. */
  'suffering.get': { input: { id: string; limit?: number | undefined; offset?: number | undefined }; output: SufferingReport }
  /** What was learned on one heartbeat, and what was done about it. */
  'swarm.report': { input: { report_id: string }; output: SwarmReport }
  /** What was learned, newest first. */
  'swarm.reports': { input: { limit?: number | undefined; offset?: number | undefined }; output: SwarmReport[] }
  /** Undo what a report did; it is not done again while its reason lasts. */
  'swarm.revert': { input: { report_id: string }; output: SwarmReport }
  /** Who could take a task, the best first. */
  'swarm.route': { input: { task: string }; output: { agent_id: string; task_type: string; score: number; goals: number; active_goals: number; preferred: boolean }[] }
  /** What all agents together have learned, and what was done about it. */
  'swarm.show': { input: Record<never, never>; output: SwarmStatus }
  /** End a task, wherever it runs or waits. */
  'tasks.cancel': { input: { task_id: string }; output: { task_id: string; status: 'running' | 'completed' | 'failed' | 'max_steps' | 'waiting_approval'; output: string; steps_taken: number; tool_calls_made: number; session_id: string; approval_ids: string[]; cost_usd: number; tokens: number; parsed: Record<string, unknown> | null; error: { type: string; title: string; status: number; detail: string; code: string; request_id: string; errors?: { path: string; message: string }[] | undefined } | null; agent_id: string; instruction: string; max_steps: number; response_schema: Record<string, unknown> | null; duration_ms: number; created_at: string; ended_at: string | null } }
  /** Follow a task, wherever it runs; with Last-Event-ID from there on. */
  'tasks.follow': { input: { task_id: string }; events: { token: { text: string }; info: { code: string; message: string }; done: { task_id: string; status: 'completed' | 'failed' | 'max_steps' | 'waiting_approval'; output: string; steps_taken: number; tool_calls_made: number; session_id: string; approval_ids: string[]; cost_usd: number; tokens: number; parsed: Record<string, unknown> | null; error: { type: string; title: string; status: number; detail: string; code: string; request_id: string; errors?: { path: string; message: string }[] | undefined } | null }; error: { type: string; title: string; status: number; detail: string; code: string; request_id: string; errors?: { path: string; message: string }[] | undefined; task?: { task_id: string; status: 'completed' | 'failed' | 'max_steps' | 'waiting_approval'; output: string; steps_taken: number; tool_calls_made: number; session_id: string; approval_ids: string[]; cost_usd: number; tokens: number; parsed: Record<string, unknown> | null; error: { type: string; title: string; status: number; detail: string; code: string; request_id: string; errors?: { path: string; message: string }[] | undefined } | null } | undefined } } }
  /** A task as it stands. */
  'tasks.get': { input: { task_id: string }; output: { task_id: string; status: 'running' | 'completed' | 'failed' | 'max_steps' | 'waiting_approval'; output: string; steps_taken: number; tool_calls_made: number; session_id: string; approval_ids: string[]; cost_usd: number; tokens: number; parsed: Record<string, unknown> | null; error: { type: string; title: string; status: number; detail: string; code: string; request_id: string; errors?: { path: string; message: string }[] | undefined } | null; agent_id: string; instruction: string; max_steps: number; response_schema: Record<string, unknown> | null; duration_ms: number; created_at: string; ended_at: string | null } }
  /** An agent's one-shot tasks of this user, newest first. */
  'tasks.list': { input: { limit?: number | undefined; offset?: number | undefined; id: string }; output: { task_id: string; status: 'running' | 'completed' | 'failed' | 'max_steps' | 'waiting_approval'; output: string; steps_taken: number; tool_calls_made: number; session_id: string; approval_ids: string[]; cost_usd: number; tokens: number; parsed: Record<string, unknown> | null; error: { type: string; title: string; status: number; detail: string; code: string; request_id: string; errors?: { path: string; message: string }[] | undefined } | null; agent_id: string; instruction: string; max_steps: number; response_schema: Record<string, unknown> | null; duration_ms: number; created_at: string; ended_at: string | null }[] }
  /** Go on with a task that waited for approvals, and wait for its answer. */
  'tasks.resume': { input: { task_id: string }; output: { task_id: string; status: 'completed' | 'failed' | 'max_steps' | 'waiting_approval'; output: string; steps_taken: number; tool_calls_made: number; session_id: string; approval_ids: string[]; cost_usd: number; tokens: number; parsed: Record<string, unknown> | null; error: { type: string; title: string; status: number; detail: string; code: string; request_id: string; errors?: { path: string; message: string }[] | undefined } | null } }
  /** Have an agent do one thing now, and wait for its answer. */
  'tasks.run': { input: { id: string; instruction: string; max_steps?: number | undefined; session_id?: string | null | undefined; session_key?: string | null | undefined; response_schema?: Record<string, unknown> | null | undefined }; output: { task_id: string; status: 'completed' | 'failed' | 'max_steps' | 'waiting_approval'; output: string; steps_taken: number; tool_calls_made: number; session_id: string; approval_ids: string[]; cost_usd: number; tokens: number; parsed: Record<string, unknown> | null; error: { type: string; title: string; status: number; detail: string; code: string; request_id: string; errors?: { path: string; message: string }[] | undefined } | null } }
  /** Have an agent do one thing now, and follow what it says. */
  'tasks.stream': { input: { id: string; instruction: string; max_steps?: number | undefined; session_id?: string | null | undefined; session_key?: string | null | undefined; response_schema?: Record<string, unknown> | null | undefined }; events: { token: { text: string }; info: { code: string; message: string }; done: { task_id: string; status: 'completed' | 'failed' | 'max_steps' | 'waiting_approval'; output: string; steps_taken: number; tool_calls_made: number; session_id: string; approval_ids: string[]; cost_usd: number; tokens: number; parsed: Record<string, unknown> | null; error: { type: string; title: string; status: number; detail: string; code: string; request_id: string; errors?: { path: string; message: string }[] | undefined } | null }; error: { type: string; title: string; status: number; detail: string; code: string; request_id: string; errors?: { path: string; message: string }[] | undefined; task?: { task_id: string; status: 'completed' | 'failed' | 'max_steps' | 'waiting_approval'; output: string; steps_taken: number; tool_calls_made: number; session_id: string; approval_ids: string[]; cost_usd: number; tokens: number; parsed: Record<string, unknown> | null; error: { type: string; title: string; status: number; detail: string; code: string; request_id: string; errors?: { path: string; message: string }[] | undefined } | null } | undefined } } }
  /** What was said in all tasks of a session, oldest first. */
  'tasks.transcript': { input: { limit?: number | undefined; offset?: number | undefined; session_id: string }; output: { task_id: string; role: 'system' | 'user' | 'assistant' | 'tool'; content: string; tool_calls?: { id: string; name: string; arguments: unknown }[] | undefined; tool_call_id?: string | undefined; name?: string | undefined; is_error?: boolean | undefined; at: string }[] }
  /** What agents have put on their to-do lists, of all agents or of one, high priority first. */
  'todos.list': { input: { limit?: number | undefined; offset?: number | undefined; agent?: string | undefined; status?: 'pending' | 'done' | 'all' | undefined }; output: Todo[] }
  /** Mark something on an agent’s list as done, or as to be done again. */
  'todos.mark': { input: { todo_id: string; status: 'pending' | 'done' }; output: Todo }
  /** The tools that an agent is given, and what they take of each prompt. */
  'tools.list': { input: { id?: string | undefined }; output: { agent_id: string | null; budget_tokens: number; offered_tokens: number; all_tokens: number; tools: { name: string; toolkit: string; owner: string; tokens: number; offered: boolean; idempotent: boolean; requires_approval: boolean; danger: string | null; description: string }[] } }
}

export type Fleet = { agents: FleetMember[]; matching: number; summary: { total: number; hidden: number; statuses: Record<string, number>; stuck: number; cost_usd: number; tokens: number; next: { agent_id: string; name: string; at: string } | null; asking: { agent_id: string; name: string; held: string }[]; reasons: { reason: string; agents: number; first: { agent_id: string; name: string }[] }[] } }

export type FleetMember = { agent_id: string; name: string; role: string; model: string; status: 'working' | 'idle' | 'waiting' | 'waiting_approval' | 'paused' | 'dead'; goal: string | null; steps: number | null; held: string | null; next_run_at: string | null; last_active: string | null; cost_usd: number; tokens: number; cycle_count: number; spawned_by: string | null }

export type Agent = { agent_id: string; name: string; role: string; model: string; status: 'working' | 'idle' | 'waiting' | 'waiting_approval' | 'paused' | 'dead'; goal: string | null; preset: string; goal_id: string | null; waiting_for: string | null; error: string | null; persona: Record<string, unknown> | null; suffering: Record<string, unknown> | null; mood: string | null; world: Record<string, unknown> | null; identity: Record<string, unknown> | null; budget: { pursuits: { agent_id: string; limit_usd: number | null; spent_usd: number }; total: { agent_id: string; limit_usd: number | null; spent_usd: number; reserved_usd: number } } | null; workspace: string; spawned_by: string | null; created_at: string; last_active: string | null; next_run_at: string | null; next: { at: string | null; reason: string }; cycle_count: number; cost_usd: number; tokens: number }

export type AgentSummary = { agent_id: string; name: string; role: string; model: string; status: 'working' | 'idle' | 'waiting' | 'waiting_approval' | 'paused' | 'dead'; goal: string | null }

export type Specialization = { agent_id: string; goals: number; score: number; strengths: string[]; types: { task_type: string; goals: number; completed: number; rate: number; mean_duration_ms: number }[] }

export type StatusEntry = { agent_id: string; name: string; role: string; model: string; status: 'working' | 'idle' | 'waiting' | 'waiting_approval' | 'paused' | 'dead'; goal: string | null; frozen_since: string | null }

export type Alarm = { alarm_id: string; agent_id: string; description: string; at: string; status: 'pending' | 'fired'; created_by: string; created_at: string; fired_at: string | null }

export type Spending = { at: string; by: string | null; cost_usd: number; tokens: number; calls: number }

export type Bundle = { format: string; version: number; sha256: string; content: Record<string, unknown> }

export type Checkpoint = { checkpoint_id: string; agent_id: string; label: string; origin: 'asked' | 'automatic'; created_at: string; number: number; cycle_num: number; parts: Record<string, unknown> }

export type ClusterNode = { node: string; host: string; pid: number; version: string; schema_version: number; state: 'at work' | 'draining' | 'silent'; in_flight: number; lag_ms: number; config: string; started_at: string; seen_at: string }

export type ConfigKey = { key: string; section: string; schema: Record<string, unknown>; value: unknown; default: unknown; source: 'file' | 'env' | 'default'; env: string | null; secret: boolean; reload: 'applied' | 'restart_required' }

export type Delegation = { delegation_id: string; message_id: string; from_agent: string; to_agent: string; goal_id: string; from_goal_id: string | null; objective: string; waits: boolean; status: 'pending' | 'completed' | 'failed'; result: string | null; created_at: string; ended_at: string | null }

export type DoctorReport = { level: 'ok' | 'warn' | 'fail'; message: string; remedy: string | null; name: string }

export type Citizen = { agent_id: string; balance: number; job: string | null; salary: number; skills: Record<string, number>; happiness: number; health: number; reputation: number; energy: number; cycles_alive: number; sheltered: boolean; insolvencies: number; plays: number; wins: number }

export type Ledger = { balanced: boolean; total: number; accounts: { account: string; kind: 'agent' | 'bank' | 'employers' | 'landlord' | 'school' | 'clinic' | 'house' | 'fortune' | 'escrow' | 'departed'; balance: number; moved: number }[]; entries: LedgerEntry[] }

export type LedgerEntry = { entry_id: string; beat: number; payer: string; payee: string; amount: number; reason: string; at: string }

export type LifeMoment = { life_event_id: string; beat: number; event: string; category: 'career' | 'health' | 'social' | 'financial' | 'random'; origin: 'random' | 'follow_up'; status: 'waiting' | 'decided'; choice: number | null; chosen_by: 'model' | 'default' | 'only' | null; luck: number | null; effects: Record<string, number> | null; summary: string | null; at: string }

export type World = { enabled: boolean; beat: number; jobs: { job_id: string; title: string; salary: number; skill: string | null; agent_id: string | null; holder: string | null }[]; courses: { skill: string; cost: number }[]; offers: { offer_id: string; agent_id: string; seller: string; title: string; price: number }[]; rent: number; lottery: { cost: number; win_chance: number; payout: number }; blackjack: { win_rate: number; pays: number } }

export type Goal = { goal_id: string; agent_id: string; objective: string; status: 'active' | 'completed' | 'abandoned'; priority: number; origin: string; parent_goal_id: string | null; reasoning: string | null; result: string | null; unconfirmed: boolean; steps_completed: number; created_at: string; completed_at: string | null }

export type ToolCall = { call_id: string; step: number; tool: string; arguments: string; state: string; ok: boolean | null; output: string | null; approval_id: string | null; started_at: string; ended_at: string | null }

export type AgentContext = { model: string; window: number; sections: { system: number; tools: number; messages: number; answer: number }; total: number; ratio: number; cleared: number; digested: number; cut: number; agent_id: string; goal_id: string | null }

export type SaidMessage = { role: 'system' | 'user' | 'assistant' | 'tool'; content: string; tool_calls?: { id: string; name: string; arguments: unknown; repaired?: string[] | undefined }[] | undefined; reasoning?: string | undefined; dropped_calls?: number | undefined; tool_call_id?: string | undefined; name?: string | undefined; is_error?: boolean | undefined; at: string }

export type Identity = { agent_id: string; display_name: string; traits: string[]; domains: string[]; narrative: string; chapters: { index: number; summary: string; entry_count: number; started: string; ended: string }[]; worldview: string; opinions: { domain: string; opinion: string; formed_at: string }[]; open_questions: { question_id: string; question: string; asked_at: string }[]; evolution: { at: string; kind: 'opinion' | 'worldview' | 'question' | 'answer'; note: string }[]; created_at: string }

export type McpServer = { name: string; toolkit: string; transport: 'stdio' | 'http'; target: string; state: 'disabled' | 'idle' | 'starting' | 'connected' | 'waiting' | 'suspended'; error: string | null; retry_at: string | null; says_it_is: string | null; pid: number | null; profiles: string[] | null; pinned: boolean; calls: number; failures: number; restarts: number; tools: { name: string; tool: string; description: string; offered: boolean; problem: string | null }[] }

export type A2AMessage = { message_id: string; type: 'request' | 'response' | 'query' | 'answer' | 'review' | 'feedback' | 'delegate' | 'ack' | 'reject'; from_agent: string; to_agent: string; subject: string; body: string; reply_to: string | null; thread_id: string; priority: number; expects_reply: boolean; read: boolean; metadata: Record<string, unknown>; ts: string }

export type MessageGraph = { since: string; messages: number; complete: boolean; agents: { agent_id: string; name: string; alive: boolean; sent: number; received: number }[]; edges: { from_agent: string; to_agent: string; messages: number; types: Record<string, number>; last_at: string }[]; left_out: number }

export type Note = { note_id: string; text: string; tags: string[]; at: string }

export type PatternRun = { pattern_id: string; name: string; initiator: string; participants: string[]; task: string; rounds: number; budget: { usd: number | null; tokens: number | null }; spent: { usd: number; tokens: number }; status: 'running' | 'completed' | 'declined' | 'timed_out' | 'over_budget' | 'cancelled'; messages: number; result: Record<string, unknown> | null; created_at: string; deadline: string; ended_at: string | null }

export type RunDiff = { same: boolean; common: number; divergence: { agent_id: string | null; cycle_num: number | null; a: string; b: string } | null; a: { run_id: string; events: number; cycles: number; steps: number; tool_calls: number; goals_completed: number; tokens: number; cost_usd: number; after: { events: number; cycles: number; steps: number; tool_calls: number; goals_completed: number; tokens: number; cost_usd: number } }; b: { run_id: string; events: number; cycles: number; steps: number; tool_calls: number; goals_completed: number; tokens: number; cost_usd: number; after: { events: number; cycles: number; steps: number; tool_calls: number; goals_completed: number; tokens: number; cost_usd: number } } }

export type RecordedStep = { step: number; agent_id: string; cycle_num: number; says: string }

export type ReplayVerdict = { run_id: string; same: boolean; events: number; cycles: number; steps: number; hash: string; replayed_hash: string; duration_ms: number; divergence: Divergence | null; notes: string[] }

export type Divergence = { agent_id: string | null; cycle_num: number | null; step: number; seq: number | null; what: string; expected: string; got: string }

export type RunDetail = { cycles: number; goals_generated: number; goals_completed: number; goals_abandoned: number; model_calls: number; tool_calls: number; tool_failures: number; tokens: number; cost_usd: number; run_id: string; kind: string; status: 'running' | 'ended' | 'crashed'; started_at: string; ended_at: string | null; duration_s: number; exit: string | null; model: string; heartbeat: number | null; agents: number; agent_ids: string[]; agents_seen: RunAgent[]; svc_version: string; node: string; seed: number | null; model_config: Record<string, unknown>; profiles: string[]; plugins: { name: string; version: string; origin: string; state: string }[]; tools: string[]; agent_id: string | null; task_id: string | null; session_id: string | null }

export type RunAgent = { cycles: number; goals_generated: number; goals_completed: number; goals_abandoned: number; model_calls: number; tool_calls: number; tool_failures: number; tokens: number; cost_usd: number; agent_id: string; name: string; model: string; first_at: string; last_at: string }

export type Run = { cycles: number; goals_generated: number; goals_completed: number; goals_abandoned: number; model_calls: number; tool_calls: number; tool_failures: number; tokens: number; cost_usd: number; run_id: string; kind: string; status: 'running' | 'ended' | 'crashed'; started_at: string; ended_at: string | null; duration_s: number; exit: string | null; model: string; heartbeat: number | null; agents: number }

export type Trace = { run_id: string; total_spans: number; complete: boolean; next_after: number | null; next_before: number | null; left_out: number; broken_lines: number; root: Span }

export type Span = { span_id: string; parent_id: string | null; name: string; kind: 'run' | 'agent' | 'goal' | 'decision' | 'tool'; start_time: string; end_time: string | null; status: 'running' | 'ended' | 'crashed' | 'active' | 'completed' | 'abandoned' | 'ok' | 'error'; tokens: number; cost_usd: number; attributes: Record<string, unknown>; children: Span[] }

export type SandboxStatus = { mode: 'auto' | 'required' | 'off'; wall: 'bubblewrap' | 'none'; network: boolean; reason: string }

export type Schedule = { schedule_id: string; agent_id: string; objective: string; every_n_cycles: number | null; every: number | null; cron: string | null; time_zone: string | null; priority: number; missed: 'once' | 'skip' | null; enabled: boolean; created_by: string; created_at: string; next_at: string | null; next_cycle: number | null; held_by: string | null; fired: number; skipped: number; last_skip: string | null; last_fired_at: string | null; last_goal_id: string | null }

export type DatabaseBackup = { file: string; version: number; bytes: number; faults: string[] }

export type SubAgent = { sub_agent_id: string; parent_agent_id: string; name: string; role: string; task: string; status: 'running' | 'completed' | 'failed' | 'expired' | 'terminated'; result: string | null; ending: string | null; depth: number; cycles: number; max_cycles: number; goal_id: string | null; profile: string | null; cost_usd: number; created_at: string; completed_at: string | null }

export type SufferingReport = { load: number; crisis: boolean; level: 'calm' | 'prominent' | 'constrained' | 'dominant' | 'crisis'; mood: string; stressors: { stressor: string; severity: number; peak_severity: number; trend: 'rising' | 'easing'; condition: string; since: string }[]; waking_hours: number; agent_id: string; persona: { risk_tolerance: number; social_drive: number; concentration: number; autonomy_level: number; happiness: number }; base: { risk_tolerance: number; social_drive: number; concentration: number; autonomy_level: number; happiness: number }; home: { risk_tolerance: number; social_drive: number; concentration: number; autonomy_level: number; happiness: number }; enabled: boolean; thresholds: { prominent: number; constrained: number; dominant: number; crisis: number }; moments: number; history: { at: string; load: number; crisis: boolean; mood: string; severities: Record<string, number>; persona: { risk_tolerance: number; social_drive: number; concentration: number; autonomy_level: number; happiness: number }; base: { risk_tolerance: number; social_drive: number; concentration: number; autonomy_level: number; happiness: number } }[] }

export type SwarmReport = { agents: number; active_goals: number; figures: { success_rate: number | null; completed: number; abandoned: number; patterns: number; mean_specialization: number }; deltas: { success_rate: number | null; completed: number; abandoned: number; patterns: number; mean_specialization: number }; patterns: { kind: 'shared_capability' | 'specialization_emerging'; task_type: string | null; agents: string[] }[]; recommendations: { kind: 'routing' | 'knowledge' | 'specialization'; priority: number; agent_id: string | null; task_type: string | null; text: string }[]; report_id: string; beat: number; policy: string; effects: SwarmEffect[]; created_at: string; reverted_at: string | null }

export type SwarmEffect = { effect_id: string; report_id: string; kind: 'hint' | 'memory' | 'route' | 'rest'; topic: string; agent_id: string; text: string; status: 'planned' | 'in_force' | 'ended' | 'reverting' | 'reverted' | 'lifted'; created_at: string; ended_at: string | null }

export type SwarmStatus = { policy: string; acts: boolean; latest: SwarmReport | null; in_force: SwarmEffect[]; specializations: Specialization[] }

export type Todo = { todo_id: string; agent_id: string; description: string; priority: 'high' | 'medium' | 'low'; status: 'pending' | 'done'; due: string | null; created_at: string; completed_at: string | null }

/** Where each operation is. */
export const OPERATIONS = {
  'agents.delete': { method: 'DELETE', path: '/agents/{id}' },
  'agents.fleet': { method: 'GET', path: '/fleet' },
  'agents.get': { method: 'GET', path: '/agents/{id}' },
  'agents.list': { method: 'GET', path: '/agents' },
  'agents.nudge': { method: 'POST', path: '/agents/{id}/nudge' },
  'agents.pause': { method: 'POST', path: '/agents/{id}/pause' },
  'agents.resume': { method: 'POST', path: '/agents/{id}/resume' },
  'agents.spawn': { method: 'POST', path: '/agents' },
  'agents.specialization': { method: 'GET', path: '/agents/{id}/specialization' },
  'agents.status': { method: 'GET', path: '/status' },
  'agents.update': { method: 'PATCH', path: '/agents/{id}' },
  'agents.why': { method: 'GET', path: '/agents/{id}/why' },
  'alarms.all': { method: 'GET', path: '/alarms' },
  'alarms.cancel': { method: 'DELETE', path: '/alarms/{alarm_id}' },
  'alarms.get': { method: 'GET', path: '/alarms/{alarm_id}' },
  'alarms.list': { method: 'GET', path: '/agents/{id}/alarms' },
  'alarms.set': { method: 'POST', path: '/agents/{id}/alarms' },
  'alarms.update': { method: 'PATCH', path: '/alarms/{alarm_id}' },
  'approvals.decide': { method: 'POST', path: '/approvals/{approval_id}' },
  'approvals.get': { method: 'GET', path: '/agents/{id}/approvals/{approval_id}' },
  'approvals.grant': { method: 'POST', path: '/approval-rules' },
  'approvals.list': { method: 'GET', path: '/agents/{id}/approvals' },
  'approvals.queue': { method: 'GET', path: '/approvals' },
  'approvals.resolve': { method: 'POST', path: '/agents/{id}/approvals/{approval_id}' },
  'approvals.revoke': { method: 'DELETE', path: '/approval-rules/{rule_id}' },
  'approvals.rule': { method: 'GET', path: '/approval-rules/{rule_id}' },
  'approvals.rules': { method: 'GET', path: '/approval-rules' },
  'approvals.show': { method: 'GET', path: '/approvals/{approval_id}' },
  'budget.reset': { method: 'POST', path: '/budget/reset' },
  'budget.spending': { method: 'GET', path: '/spending' },
  'budget.status': { method: 'GET', path: '/budget' },
  'bundles.export': { method: 'GET', path: '/agents/{id}/bundle' },
  'bundles.import': { method: 'POST', path: '/bundles' },
  'checkpoints.delete': { method: 'DELETE', path: '/agents/{id}/checkpoints/{checkpoint_id}' },
  'checkpoints.diff': { method: 'GET', path: '/agents/{id}/checkpoints/{checkpoint_id}/diff' },
  'checkpoints.get': { method: 'GET', path: '/agents/{id}/checkpoints/{checkpoint_id}' },
  'checkpoints.list': { method: 'GET', path: '/agents/{id}/checkpoints' },
  'checkpoints.prune': { method: 'POST', path: '/agents/{id}/checkpoints/prune' },
  'checkpoints.restore': { method: 'POST', path: '/agents/{id}/checkpoints/{checkpoint_id}/restore' },
  'checkpoints.take': { method: 'POST', path: '/agents/{id}/checkpoints' },
  'cluster.drain': { method: 'POST', path: '/cluster/drain' },
  'cluster.resume': { method: 'POST', path: '/cluster/resume' },
  'cluster.status': { method: 'GET', path: '/cluster' },
  'config.get': { method: 'GET', path: '/config' },
  'config.keys': { method: 'GET', path: '/config-keys' },
  'config.patch': { method: 'PATCH', path: '/config' },
  'config.unset': { method: 'DELETE', path: '/config/{key}' },
  'config.value': { method: 'GET', path: '/config/{key}' },
  'daemon.pause': { method: 'POST', path: '/daemon/pause' },
  'daemon.resume': { method: 'POST', path: '/daemon/resume' },
  'daemon.status': { method: 'GET', path: '/daemon' },
  'delegations.all': { method: 'GET', path: '/delegations' },
  'delegations.list': { method: 'GET', path: '/agents/{id}/delegations' },
  'doctor.checks': { method: 'GET', path: '/doctor' },
  'economy.citizen': { method: 'GET', path: '/agents/{id}/world' },
  'economy.ledger': { method: 'GET', path: '/world/ledger' },
  'economy.life': { method: 'GET', path: '/agents/{id}/life' },
  'economy.world': { method: 'GET', path: '/world' },
  'events.follow': { method: 'GET', path: '/events', stream: 'goes on' },
  'events.list': { method: 'GET', path: '/agents/{id}/events' },
  'goals.abandon': { method: 'POST', path: '/goals/{goal_id}/abandon' },
  'goals.abandon_all': { method: 'POST', path: '/goals/abandon' },
  'goals.add': { method: 'POST', path: '/agents/{id}/goals' },
  'goals.calls': { method: 'GET', path: '/goals/{goal_id}/calls' },
  'goals.context': { method: 'GET', path: '/agents/{id}/context' },
  'goals.get': { method: 'GET', path: '/goals/{goal_id}' },
  'goals.history': { method: 'GET', path: '/agents/{id}/history' },
  'goals.list': { method: 'GET', path: '/agents/{id}/goals' },
  'goals.transcript': { method: 'GET', path: '/goals/{goal_id}/transcript' },
  'goals.update': { method: 'PATCH', path: '/goals/{goal_id}' },
  'guardrails.check': { method: 'POST', path: '/guardrails/check' },
  'health.check': { method: 'GET', path: '/healthz' },
  'identity.biography': { method: 'GET', path: '/agents/{id}/biography', produces: 'text/markdown' },
  'identity.get': { method: 'GET', path: '/agents/{id}/identity' },
  'identity.journal': { method: 'GET', path: '/agents/{id}/journal' },
  'identity.journals': { method: 'GET', path: '/journals' },
  'identity.lives': { method: 'GET', path: '/lives' },
  'mcp_servers.accept': { method: 'POST', path: '/mcp-servers/{name}/accept' },
  'mcp_servers.list': { method: 'GET', path: '/mcp-servers' },
  'mcp_servers.restart': { method: 'POST', path: '/mcp-servers/{name}/restart' },
  'memory.consolidate': { method: 'POST', path: '/agents/{id}/memory/consolidate' },
  'memory.forget': { method: 'DELETE', path: '/agents/{id}/memory/{memory_id}' },
  'memory.get': { method: 'GET', path: '/agents/{id}/memory/{memory_id}' },
  'memory.list': { method: 'GET', path: '/agents/{id}/memory' },
  'messages.get': { method: 'GET', path: '/messages/{message_id}' },
  'messages.graph': { method: 'GET', path: '/messages/graph' },
  'messages.list': { method: 'GET', path: '/agents/{id}/messages' },
  'messages.send': { method: 'POST', path: '/agents/{id}/messages' },
  'messages.thread': { method: 'GET', path: '/messages/{message_id}/thread' },
  'messages.threads': { method: 'GET', path: '/agents/{id}/threads' },
  'metrics.get': { method: 'GET', path: '/metrics', produces: 'text/plain' },
  'models.list': { method: 'GET', path: '/models' },
  'notes.list': { method: 'GET', path: '/agents/{id}/notes' },
  'openapi.get': { method: 'GET', path: '/openapi.json' },
  'patterns.cancel': { method: 'POST', path: '/pattern-runs/{pattern_id}/cancel' },
  'patterns.get': { method: 'GET', path: '/pattern-runs/{pattern_id}' },
  'patterns.list': { method: 'GET', path: '/patterns' },
  'patterns.messages': { method: 'GET', path: '/pattern-runs/{pattern_id}/messages' },
  'patterns.runs': { method: 'GET', path: '/pattern-runs' },
  'patterns.start': { method: 'POST', path: '/patterns/{name}' },
  'plugins.list': { method: 'GET', path: '/plugins' },
  'plugins.reload': { method: 'POST', path: '/plugins/reload' },
  'profiles.list': { method: 'GET', path: '/profiles' },
  'recordings.diff': { method: 'GET', path: '/runs/{a}/diff/{b}' },
  'recordings.get': { method: 'GET', path: '/runs/{id}/recording' },
  'recordings.list': { method: 'GET', path: '/recordings' },
  'recordings.replay': { method: 'POST', path: '/runs/{id}/replay' },
  'retention.run': { method: 'POST', path: '/retention/run' },
  'runs.export': { method: 'GET', path: '/runs/{id}/export', produces: 'text/html' },
  'runs.get': { method: 'GET', path: '/runs/{id}' },
  'runs.list': { method: 'GET', path: '/runs' },
  'runs.trace': { method: 'GET', path: '/runs/{run_id}/trace' },
  'sandbox.status': { method: 'GET', path: '/sandbox' },
  'schedules.add': { method: 'POST', path: '/agents/{id}/schedules' },
  'schedules.all': { method: 'GET', path: '/schedules' },
  'schedules.get': { method: 'GET', path: '/schedules/{schedule_id}' },
  'schedules.list': { method: 'GET', path: '/agents/{id}/schedules' },
  'schedules.remove': { method: 'DELETE', path: '/schedules/{schedule_id}' },
  'schedules.update': { method: 'PATCH', path: '/schedules/{schedule_id}' },
  'sessions.close': { method: 'DELETE', path: '/sessions/{session_id}' },
  'sessions.create': { method: 'POST', path: '/sessions' },
  'sessions.get': { method: 'GET', path: '/sessions/{session_id}' },
  'sessions.list': { method: 'GET', path: '/sessions' },
  'store.backup': { method: 'POST', path: '/database/backup' },
  'sub_agents.list': { method: 'GET', path: '/agents/{id}/sub-agents' },
  'suffering.get': { method: 'GET', path: '/agents/{id}/suffering' },
  'swarm.report': { method: 'GET', path: '/swarm/reports/{report_id}' },
  'swarm.reports': { method: 'GET', path: '/swarm/reports' },
  'swarm.revert': { method: 'POST', path: '/swarm/reports/{report_id}/revert' },
  'swarm.route': { method: 'GET', path: '/swarm/route' },
  'swarm.show': { method: 'GET', path: '/swarm' },
  'tasks.cancel': { method: 'POST', path: '/tasks/{task_id}/cancel' },
  'tasks.follow': { method: 'GET', path: '/tasks/{task_id}/stream', stream: 'ends' },
  'tasks.get': { method: 'GET', path: '/tasks/{task_id}' },
  'tasks.list': { method: 'GET', path: '/agents/{id}/tasks' },
  'tasks.resume': { method: 'POST', path: '/tasks/{task_id}/resume' },
  'tasks.run': { method: 'POST', path: '/agents/{id}/tasks' },
  'tasks.stream': { method: 'POST', path: '/agents/{id}/tasks/stream', stream: 'ends' },
  'tasks.transcript': { method: 'GET', path: '/sessions/{session_id}/transcript' },
  'todos.list': { method: 'GET', path: '/todos' },
  'todos.mark': { method: 'PATCH', path: '/todos/{todo_id}' },
  'tools.list': { method: 'GET', path: '/agents/{id}/tools' },
} as const
