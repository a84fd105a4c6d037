// biome-ignore-all format: made from the operations; make it anew with: npx vitest run test/interfaces/client-operations.test.ts -u

/** What each operation takes and gives. */
export interface Operations {
  /** Kill an agent. */
  'agents.delete': { input: { id: string }; output: DeletedAgent | null }
  /** List agents at a glance, with totals. */
  'agents.fleet': { input: { status?: 'working' | 'idle' | 'waiting' | 'waiting_approval' | 'paused' | 'dead' | 'stuck' | undefined; all?: boolean | undefined; q?: string | undefined; sort?: 'need' | 'name' | '-name' | 'status' | '-status' | 'next' | '-next' | 'active' | '-active' | 'cost' | '-cost' | undefined; limit?: number | undefined; offset?: number | undefined }; output: Fleet }
  /** Show an agent in full. */
  'agents.get': { input: { id: string }; output: Agent }
  /** List agents, oldest first. */
  'agents.list': { input: { limit?: number | undefined; offset?: number | undefined; status?: 'working' | 'idle' | 'waiting' | 'waiting_approval' | 'paused' | 'dead' | undefined; all?: boolean | undefined }; output: AgentSummary[] }
  /** Send an agent a nudge. */
  'agents.nudge': { input: { id: string; message: string; images?: { data: string; name?: string | undefined }[] | undefined }; output: { nudge_id: string } }
  /** Pause an agent. */
  'agents.pause': { input: { id: string }; output: { agent_id: string; status: 'working' | 'idle' | 'waiting' | 'waiting_approval' | 'paused' | 'dead' } }
  /** Resume a paused agent. */
  'agents.resume': { input: { id: string }; output: { agent_id: string; status: 'working' | 'idle' | 'waiting' | 'waiting_approval' | 'paused' | 'dead' } }
  /** Spawn an agent from a preset. */
  'agents.spawn': { input: { preset: string; name?: string | undefined; model?: string | null | undefined; workspace?: string | { path: string; access?: 'read-only' | 'read-write' | undefined } | null | undefined; folders?: (string | { path: string; access?: 'read-only' | 'read-write' | undefined })[] | undefined; goal?: string | undefined; worktree?: 'agent' | 'goal' | undefined }; output: Agent }
  /** Show which kinds of work an agent is good at. */
  'agents.specialization': { input: { id: string }; output: Specialization }
  /** Show the agents' status. */
  'agents.status': { input: { limit?: number | undefined; offset?: number | undefined; status?: 'working' | 'idle' | 'waiting' | 'waiting_approval' | 'paused' | 'dead' | undefined; all?: boolean | undefined }; output: StatusEntry[] }
  /** Change an agent's model, role or folders. */
  'agents.update': { input: { id: string; model?: string | undefined; role?: string | undefined; workspace?: string | { path: string; access?: 'read-only' | 'read-write' | undefined } | null | undefined; folders?: (string | { path: string; access?: 'read-only' | 'read-write' | undefined })[] | undefined }; output: Agent }
  /** Explain what an agent waits for. */
  'agents.why': { input: { id: string }; output: { at: string | null; reason: string; agent_id: string; status: 'working' | 'idle' | 'waiting' | 'waiting_approval' | 'paused' | 'dead'; warning: string | null } }
  /** List pending alarms, next first. */
  'alarms.all': { input: { agent?: string | undefined; all?: boolean | undefined }; output: Alarm[] }
  /** Cancel a pending alarm. */
  'alarms.cancel': { input: { alarm_id: string }; output: null }
  /** Show a pending alarm. */
  'alarms.get': { input: { alarm_id: string }; output: Alarm }
  /** List an agent's pending alarms, next first. */
  'alarms.list': { input: { id: string }; output: Alarm[] }
  /** Set an alarm for an agent. */
  'alarms.set': { input: { id: string; at: string; description: string }; output: Alarm }
  /** Change an alarm's time or text. */
  'alarms.update': { input: { alarm_id: string; at?: string | undefined; description?: string | undefined }; output: Alarm }
  /** Approve or deny a tool call. */
  'approvals.decide': { input: { approval_id: string; decision: 'approve' | 'deny'; reason?: string | null | undefined; arguments?: Record<string, unknown> | undefined }; output: { approval_id: string; agent_id: string; agent_name: string | null; tool_name: string; danger: string | null; arguments: unknown; args_chars: number; args_sha256: string; status: 'pending' | 'approved' | 'denied' | 'consumed'; created_at: string; expires_at: string | null; session_id: string | null; goal_id: string | null; goal: string | null; task_id: string | null; folders: GivenFolder[]; reason: string | null; edited: boolean; resolved_at: string | null; resolved_by: string | null; original_arguments: unknown; preview: string | null; used_at: string | null; call_id: string | null } }
  /** Show an agent's approval in full. */
  'approvals.get': { input: { id: string; approval_id: string }; output: { approval_id: string; agent_id: string; agent_name: string | null; tool_name: string; danger: string | null; arguments: unknown; args_chars: number; args_sha256: string; status: 'pending' | 'approved' | 'denied' | 'consumed'; created_at: string; expires_at: string | null; session_id: string | null; goal_id: string | null; goal: string | null; task_id: string | null; folders: GivenFolder[]; reason: string | null; edited: boolean; resolved_at: string | null; resolved_by: string | null; original_arguments: unknown; preview: string | null; used_at: string | null; call_id: string | null } }
  /** Add an approval rule. */
  'approvals.grant': { input: { tool_name: string; agent?: string | undefined; arguments?: Record<string, unknown> | null | undefined; until?: string | undefined; uses?: number | undefined; reason?: string | undefined }; output: { rule_id: string; agent_id: string | null; agent_name: string | null; tool_name: string; arguments: Record<string, unknown> | null; until: string | null; uses: number | null; used: number; active: boolean; reason: string | null; created_at: string; created_by: string; revoked_at: string | null; revoked_by: string | null; approved: string[]; waiting: { approval_id: string; reason: string }[] } }
  /** List an agent's approvals, pending or all. */
  'approvals.list': { input: { limit?: number | undefined; offset?: number | undefined; id: string; status?: 'pending' | 'approved' | 'denied' | 'consumed' | 'decided' | 'all' | undefined }; output: { approval_id: string; agent_id: string; agent_name: string | null; tool_name: string; danger: string | null; arguments: unknown; args_chars: number; args_sha256: string; status: 'pending' | 'approved' | 'denied' | 'consumed'; created_at: string; expires_at: string | null; session_id: string | null; goal_id: string | null; goal: string | null; task_id: string | null; folders: GivenFolder[]; reason: string | null; edited: boolean; resolved_at: string | null; resolved_by: string | null }[] }
  /** List pending approvals, oldest first. */
  'approvals.queue': { input: { limit?: number | undefined; offset?: number | undefined; status?: 'pending' | 'approved' | 'denied' | 'consumed' | 'decided' | 'all' | undefined }; output: { approval_id: string; agent_id: string; agent_name: string | null; tool_name: string; danger: string | null; arguments: unknown; args_chars: number; args_sha256: string; status: 'pending' | 'approved' | 'denied' | 'consumed'; created_at: string; expires_at: string | null; session_id: string | null; goal_id: string | null; goal: string | null; task_id: string | null; folders: GivenFolder[]; reason: string | null; edited: boolean; resolved_at: string | null; resolved_by: string | null }[] }
  /** Approve or deny an agent's tool call. */
  'approvals.resolve': { input: { approval_id: string; decision: 'approve' | 'deny'; reason?: string | null | undefined; arguments?: Record<string, unknown> | undefined; id: string }; output: { approval_id: string; agent_id: string; agent_name: string | null; tool_name: string; danger: string | null; arguments: unknown; args_chars: number; args_sha256: string; status: 'pending' | 'approved' | 'denied' | 'consumed'; created_at: string; expires_at: string | null; session_id: string | null; goal_id: string | null; goal: string | null; task_id: string | null; folders: GivenFolder[]; reason: string | null; edited: boolean; resolved_at: string | null; resolved_by: string | null; original_arguments: unknown; preview: string | null; used_at: string | null; call_id: string | null } }
  /** Revoke an approval rule. */
  'approvals.revoke': { input: { rule_id: string }; output: null }
  /** Show an approval rule. */
  'approvals.rule': { input: { rule_id: string }; output: { rule_id: string; agent_id: string | null; agent_name: string | null; tool_name: string; arguments: Record<string, unknown> | null; until: string | null; uses: number | null; used: number; active: boolean; reason: string | null; created_at: string; created_by: string; revoked_at: string | null; revoked_by: string | null } }
  /** List approval rules. */
  'approvals.rules': { input: { all?: boolean | undefined }; output: { rule_id: string; agent_id: string | null; agent_name: string | null; tool_name: string; arguments: Record<string, unknown> | null; until: string | null; uses: number | null; used: number; active: boolean; reason: string | null; created_at: string; created_by: string; revoked_at: string | null; revoked_by: string | null }[] }
  /** Show an approval in full. */
  'approvals.show': { input: { approval_id: string }; output: { approval_id: string; agent_id: string; agent_name: string | null; tool_name: string; danger: string | null; arguments: unknown; args_chars: number; args_sha256: string; status: 'pending' | 'approved' | 'denied' | 'consumed'; created_at: string; expires_at: string | null; session_id: string | null; goal_id: string | null; goal: string | null; task_id: string | null; folders: GivenFolder[]; reason: string | null; edited: boolean; resolved_at: string | null; resolved_by: string | null; original_arguments: unknown; preview: string | null; used_at: string | null; call_id: string | null } }
  /** Reset the budget counters. */
  'budget.reset': { input: Record<never, never>; output: { spent: { usd: number; tokens: number }; remaining: { usd: number | null; tokens: number | null }; reserved: { usd: number; tokens: number }; limits: { usd: number | null; tokens: number | null }; mode: 'reserve' | 'record_only'; exceeded: boolean; tight: boolean; unlimited: boolean; message: string; approximate: { usd: number; tokens: number }; unconfirmed: { usd: number; tokens: number }; unpriced_tokens: number; window_began_at: string | null; problem: string | null } }
  /** Show spending over time. */
  'budget.spending': { input: { bucket?: 'minute' | 'hour' | 'day' | undefined; by?: 'agent' | 'model' | 'kind' | undefined; since?: string | undefined; top?: number | undefined }; output: Spending[] }
  /** Show the spent, reserved and remaining budget. */
  'budget.status': { input: Record<never, never>; output: { spent: { usd: number; tokens: number }; remaining: { usd: number | null; tokens: number | null }; reserved: { usd: number; tokens: number }; limits: { usd: number | null; tokens: number | null }; mode: 'reserve' | 'record_only'; exceeded: boolean; tight: boolean; unlimited: boolean; message: string; approximate: { usd: number; tokens: number }; unconfirmed: { usd: number; tokens: number }; unpriced_tokens: number; window_began_at: string | null; problem: string | null } }
  /** Export an agent as a bundle. */
  'bundles.export': { input: { id: string }; output: Bundle }
  /** Import an agent from a bundle. */
  'bundles.import': { input: { bundle: Record<string, unknown>; preset?: string | undefined; model?: string | undefined }; output: { agent_id: string; was: string; preset: string; parts: string[]; left_out: string[]; profile_written: string | null } }
  /** Delete a checkpoint. */
  'checkpoints.delete': { input: { id: string; checkpoint_id: string }; output: null }
  /** Compare a checkpoint with another or the current state. */
  'checkpoints.diff': { input: { id: string; checkpoint_id: string; to?: string | undefined }; output: { op: 'add' | 'remove' | 'replace'; path: string; value?: unknown | undefined; was?: unknown | undefined }[] }
  /** Show a checkpoint in full. */
  'checkpoints.get': { input: { id: string; checkpoint_id: string }; output: Checkpoint }
  /** List an agent's checkpoints, newest first. */
  'checkpoints.list': { input: { limit?: number | undefined; offset?: number | undefined; id: string }; output: { checkpoint_id: string; agent_id: string; label: string; origin: 'asked' | 'automatic'; created_at: string; number: number; cycle_num: number; parts: string[]; bytes: number }[] }
  /** Delete all but an agent's newest checkpoints. */
  'checkpoints.prune': { input: { id: string; keep?: number | undefined }; output: { removed: string[] } }
  /** Restore an agent from a checkpoint. */
  'checkpoints.restore': { input: { id: string; checkpoint_id: string }; output: { agent_id: string; checkpoint_id: string; before: string; left_out: string[] } }
  /** Create a checkpoint. */
  'checkpoints.take': { input: { id: string; label?: string | undefined }; output: { checkpoint_id: string; agent_id: string; label: string; origin: 'asked' | 'automatic'; created_at: string; number: number; cycle_num: number; parts: string[]; bytes: number } }
  /** Drain a node. */
  'cluster.drain': { input: { node: string }; output: { node: string; draining: boolean } }
  /** Resume a drained node. */
  'cluster.resume': { input: { node: string }; output: { node: string; draining: boolean } }
  /** List the cluster's nodes. */
  'cluster.status': { input: Record<never, never>; output: { nodes: ClusterNode[]; warnings: string[] } }
  /** Show the configuration. */
  'config.get': { input: Record<never, never>; output: { persisted: Record<string, unknown>; effective: Record<string, unknown>; live?: Record<string, unknown> | undefined; restart_required_fields: string[]; sources: Record<string, 'file' | 'env' | 'default'>; problem?: string | undefined } }
  /** List configuration keys, values and schemas. */
  'config.keys': { input: Record<never, never>; output: ConfigKey[] }
  /** Change configuration keys. */
  'config.patch': { input: Record<string, unknown>; output: { config: Record<string, unknown>; reload: Record<string, 'applied' | 'restart_required'>; note?: string | undefined } }
  /** Reset a configuration key to its default. */
  'config.unset': { input: { key: string }; output: { key: string; value: unknown; reload: 'applied' | 'restart_required' | null; overridden_by: string | null; note: string | null } }
  /** Show a configuration key and its source. */
  'config.value': { input: { key: string }; output: { key: string; value: unknown; live?: unknown | undefined; source: 'file' | 'env' | 'default'; default: unknown; env: string | null; reload: 'applied' | 'restart_required'; description: string; problem: string | null } }
  /** Freeze the daemon. */
  'daemon.pause': { input: Record<never, never>; output: { status: 'paused' | 'running'; frozen_since: string | null } }
  /** Resume the daemon after a freeze. */
  'daemon.resume': { input: Record<never, never>; output: { status: 'paused' | 'running'; frozen_since: string | null } }
  /** Show the daemon's status. */
  'daemon.status': { input: Record<never, never>; output: { running: boolean; health: 'healthy' | 'stalled' | 'dead' | 'stopped'; problem: string | null; pid: number | null; started_at: string | null; uptime_s: number | null; last_tick_at: string | null; last_tick_age_s: number | null; joined: { pid: number; health: 'healthy' | 'stalled'; started_at: string; last_tick_age_s: number }[]; heartbeat_s: number; frozen: boolean; frozen_since: string | null; in_flight: number; agents: Record<string, number>; problems: string[]; budget: string | null } }
  /** List delegations, newest first. */
  'delegations.all': { input: { limit?: number | undefined; offset?: number | undefined }; output: Delegation[] }
  /** List an agent's delegations, newest first. */
  'delegations.list': { input: { limit?: number | undefined; offset?: number | undefined; id: string }; output: Delegation[] }
  /** Show the health of modules and plugins. */
  'doctor.checks': { input: Record<never, never>; output: DoctorReport[] }
  /** Show an agent's balance, job, skills and health. */
  'economy.citizen': { input: { id: string }; output: Citizen }
  /** Show the ledger and whether it balances. */
  'economy.ledger': { input: { agent?: string | undefined; limit?: number | undefined; offset?: number | undefined }; output: Ledger }
  /** List an agent's life events, newest first. */
  'economy.life': { input: { limit?: number | undefined; offset?: number | undefined; id: string }; output: LifeMoment[] }
  /** Show the world: jobs, courses, offers and prices. */
  'economy.world': { input: Record<never, never>; output: World }
  /** Stream events, oldest first. */
  'events.follow': { input: { agent_id?: string | undefined; type?: string[] | undefined; after?: number | undefined; last?: number | undefined; follow?: boolean | undefined; notices?: boolean | undefined }; events: { open: { after: number }; message: { seq: number; type: string; v: number; at: string; agent_id: string | null; cycle_num: number | null; run_id: string | null; data: Record<string, unknown>; agent_name?: string | null | undefined }; notice: { type: 'status_changed'; data: { daemon: 'healthy' | 'stalled' | 'dead' | 'stopped'; plugins: number; agents: Record<string, number> } } | { type: 'config_changed'; data: { keys: string[] } } | { type: 'plugin_reloaded'; data: { plugin: string; outcome: string } } } }
  /** List an agent's events, newest first. */
  'events.list': { input: { limit?: number | undefined; offset?: number | undefined; id: string; type?: string[] | undefined }; output: { seq: number; type: string; v: number; at: string; agent_id: string | null; cycle_num: number | null; run_id: string | null; data: Record<string, unknown>; agent_name?: string | null | undefined }[] }
  /** Abandon an active goal and its subgoals. */
  'goals.abandon': { input: { goal_id: string; reason?: string | undefined }; output: Goal }
  /** Abandon active goals. */
  'goals.abandon_all': { input: { goal_id?: string | undefined; agent?: string | undefined; all?: boolean | undefined; reason?: string | undefined }; output: Goal[] }
  /** Add a goal. */
  'goals.add': { input: { id: string; objective: string; priority?: number | undefined; acceptance?: ({ command: string } | { file: string } | { rubric: string; model?: string | undefined } | { operator: true })[] | undefined; after?: string[] | undefined; deadline?: string | undefined; parent_goal_id?: string | null | undefined }; output: Goal }
  /** List a goal's tool calls, newest first. */
  'goals.calls': { input: { limit?: number | undefined; offset?: number | undefined; goal_id: string }; output: ToolCall[] }
  /** Show how full an agent's context window is. */
  'goals.context': { input: { id: string }; output: AgentContext }
  /** Show a goal. */
  'goals.get': { input: { goal_id: string }; output: Goal }
  /** List an agent's goals by page, time and status. */
  'goals.history': { input: { limit?: number | undefined; offset?: number | undefined; since?: string | undefined; before?: string | undefined; order?: 'newest' | 'oldest' | undefined; id: string; status?: 'active' | 'completed' | 'abandoned' | undefined }; output: Goal[] }
  /** List an agent's goals, newest first. */
  'goals.list': { input: { limit?: number | undefined; offset?: number | undefined; id: string }; output: Goal[] }
  /** Show a goal's transcript, oldest first. */
  'goals.transcript': { input: { goal_id: string }; output: SaidMessage[] }
  /** Change an active goal's priority or criteria. */
  'goals.update': { input: { goal_id: string; priority?: number | undefined; acceptance?: ({ command: string } | { file: string } | { rubric: string; model?: string | undefined } | { operator: true })[] | undefined }; output: Goal }
  /** Check a text with the guardrails. */
  'guardrails.check': { input: { text: string; stage?: 'input' | 'peer' | 'output' | 'tool_arguments' | 'tool_result' | 'memory' | undefined }; output: { enabled: boolean; action: 'pass' | 'flag' | 'redact' | 'block'; text: string; findings: { rule: string; kind: string; start: number; end: number; action: 'flag' | 'redact' | 'block' }[] } }
  /** Check that the server reaches its database. */
  'health.check': { input: Record<never, never>; output: { status: 'ok' | 'degraded'; database: boolean } }
  /** Show an agent's biography as Markdown. */
  'identity.biography': { input: { id: string }; output: string }
  /** Show an agent's story, opinions and questions. */
  'identity.get': { input: { id: string }; output: Identity }
  /** Show an agent's journal. */
  'identity.journal': { input: { id: string; bytes?: number | undefined }; output: { agent_id: string; text: string; bytes: number; modified_at: string | null } }
  /** List journals, last written first. */
  'identity.journals': { input: { limit?: number | undefined; offset?: number | undefined }; output: { agent_id: string; bytes: number; modified_at: string; last_line: string }[] }
  /** List the lives of all agents, oldest first. */
  'identity.lives': { input: { limit?: number | undefined; offset?: number | undefined }; output: { agent_id: string; display_name: string; name: string; status: 'working' | 'idle' | 'waiting' | 'waiting_approval' | 'paused' | 'dead'; born_at: string; died_at: string | null; cycles_lived: number; goals_completed: number; goals_unconfirmed: number; goals_abandoned: number } & Record<string, unknown>[] }
  /** Show an image of a conversation. */
  'images.get': { input: { sha256: string }; output: { sha256: string; media_type: 'image/png' | 'image/jpeg' | 'image/webp'; width: number; height: number; bytes: number; data: string } }
  /** Accept changed tools of a pinned MCP server. */
  'mcp_servers.accept': { input: { name: string; tool?: string | undefined }; output: McpServer }
  /** List MCP servers, their state and their tools. */
  'mcp_servers.list': { input: Record<never, never>; output: McpServer[] }
  /** Restart an MCP server. */
  'mcp_servers.restart': { input: { name: string }; output: McpServer }
  /** Add a record to an agent's memory. */
  'memory.add': { input: { id: string; thought: string }; output: { memory_id: string; thought: string; metadata: Record<string, unknown>; ts: string; access_count: number; last_accessed: string | null } }
  /** Remove old and rarely used memories. */
  'memory.consolidate': { input: { id: string; max_age_days?: number | undefined; min_access?: number | undefined }; output: { removed: number } }
  /** Delete a memory record. */
  'memory.forget': { input: { id: string; memory_id: string }; output: null }
  /** Show a memory record. */
  'memory.get': { input: { id: string; memory_id: string }; output: { memory_id: string; thought: string; metadata: Record<string, unknown>; ts: string; access_count: number; last_accessed: string | null } }
  /** Search an agent's memory. */
  'memory.list': { input: { limit?: number | undefined; offset?: number | undefined; id: string; query?: string | undefined }; output: { memory_id: string; thought: string; metadata: Record<string, unknown>; ts: string; access_count: number; last_accessed: string | null; score: number | null }[] }
  /** Show a message. */
  'messages.get': { input: { message_id: string }; output: A2AMessage }
  /** Show the graph of messages between agents. */
  'messages.graph': { input: { since?: string | undefined; limit?: number | undefined }; output: MessageGraph }
  /** List an agent's messages, newest first. */
  'messages.list': { input: { limit?: number | undefined; offset?: number | undefined; since?: string | undefined; before?: string | undefined; order?: 'newest' | 'oldest' | undefined; id: string; box?: 'inbox' | 'outbox' | 'all' | undefined; unread?: boolean | undefined; type?: 'request' | 'response' | 'query' | 'answer' | 'review' | 'feedback' | 'delegate' | 'ack' | 'reject' | undefined; peer?: string | undefined }; output: A2AMessage[] }
  /** Send a message to an agent. */
  'messages.send': { input: { id: string; body: string; type?: 'request' | 'response' | 'query' | 'answer' | 'review' | 'feedback' | 'delegate' | 'ack' | 'reject' | undefined; subject?: string | undefined; reply_to?: string | undefined; priority?: number | undefined }; output: { message_id: string; answer: A2AMessage | null } }
  /** Show the thread of a message, oldest first. */
  'messages.thread': { input: { message_id: string }; output: A2AMessage[] }
  /** List an agent's threads, most recently active first. */
  'messages.threads': { input: { limit?: number | undefined; offset?: number | undefined; id: string }; output: { thread_id: string; subject: string; with: string; messages: number; unread: number; last_at: string }[] }
  /** Show metrics in Prometheus' text format. */
  'metrics.get': { input: Record<never, never>; output: string }
  /** Remove what was learned about a model from refusals. */
  'models.forget': { input: { model: string }; output: { context_window: number | null; omitted: string[]; lacks: ('tools' | 'schemas' | 'vision')[]; model: string; endpoint: string; learned_at: string }[] }
  /** List model providers, tiers and prices. */
  'models.list': { input: { stale?: boolean | undefined }; output: { default: { model: string; provider: string; notice: string | null } | null; error: string | null; in_use: { model: string; priced: 'catalogue' | 'free' | 'unknown'; free_because: string | null; context_window: number | null; max_output_tokens: number | null; parameters: { reasoning_effort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max' | undefined; thinking_tokens?: number | undefined; max_tokens?: number | undefined; temperature?: number | undefined; top_p?: number | undefined; stop?: string[] | undefined; seed?: number | undefined; verbosity?: 'low' | 'medium' | 'high' | undefined; extra?: Record<string, unknown> | undefined } }[]; unknown_price: 'refuse' | 'approve' | null; learned: { context_window: number | null; omitted: string[]; lacks: ('tools' | 'schemas' | 'vision')[]; model: string; endpoint: string; learned_at: string }[]; providers: { name: string; available: boolean; reason: string | null; notice: string | null; free: boolean; free_because: string | null; tiers: Record<string, string>; models: string[] | null; traffic: { breaker: 'closed' | 'open' | 'half_open'; failures: number; last_failure: string | null; retry_in_ms: number | null; backing_off_ms: number; in_flight: number; waiting: number; max_concurrent: number } }[]; listed: 'all' | 'stale'; prices: { model: string; input: number; output: number; cached_input: number | null; cache_write: number | null; long_prompt: { above: number; input: number; output: number; cached_input: number | null; cache_write: number | null } | null; context_window: number | null; max_output_tokens: number | null; as_of: string | null; source: string | null; verified: boolean; configured: boolean; stale: boolean }[] } }
  /** List an agent's notes, newest first. */
  'notes.list': { input: { limit?: number | undefined; offset?: number | undefined; id: string; query?: string | undefined }; output: Note[] }
  /** Send a test notification. */
  'notifications.test': { input: Record<never, never>; output: { text: string; status: number } }
  /** Show this API as an OpenAPI document. */
  'openapi.get': { input: Record<never, never>; output: Record<string, unknown> }
  /** Cancel a pattern run. */
  'patterns.cancel': { input: { pattern_id: string }; output: PatternRun }
  /** Show a pattern run's progress and result. */
  'patterns.get': { input: { pattern_id: string }; output: PatternRun }
  /** List collaboration patterns. */
  'patterns.list': { input: Record<never, never>; output: { name: string; summary: string; min: number; max: number; rounds: number }[] }
  /** List the messages of a pattern run, oldest first. */
  'patterns.messages': { input: { pattern_id: string }; output: { message_id: string; type: 'request' | 'response' | 'query' | 'answer' | 'review' | 'feedback' | 'delegate' | 'ack' | 'reject'; from_agent: string; to_agent: string; subject: string; body: string; reply_to: string | null; ts: string }[] }
  /** List pattern runs, newest first. */
  'patterns.runs': { input: { limit?: number | undefined; offset?: number | undefined }; output: PatternRun[] }
  /** Start a collaboration pattern. */
  'patterns.start': { input: { name: string; initiator: string; participants: string[] | string; task: string; rounds?: number | undefined; budget_usd?: number | undefined; budget_tokens?: number | undefined; timeout?: number | undefined }; output: PatternRun }
  /** List plugins, their contributions and failures. */
  'plugins.list': { input: Record<never, never>; output: { name: string; state: 'live' | 'suspended' | 'failed' | 'disabled' | 'unloaded' | 'replaced'; origin: string; version: string; description: string; registered: string[]; error: string | null; calls: number; failures: number; last_failure: string | null; load_ms: number; swaps: number; swap_ms: number | null; swapped_at: string | null }[] }
  /** Reload changed plugins now. */
  'plugins.reload': { input: { name?: string | undefined }; output: { plugin: string; origin: string; outcome: 'loaded' | 'reloaded' | 'removed' | 'failed' | 'rolled_back'; error: string | null }[] }
  /** List profiles, or show one in full. */
  'profiles.list': { input: { name?: string | undefined }; output: { name: string; file: string; error: string | null; profile: { name: string; role: string; model: string; fallback: string[]; personality: { traits: string[]; style: string }; persona: { values: string[]; fears: string[]; purpose: string; goals: string[]; risk_tolerance: number; social_drive: number; concentration: number; autonomy_level: number; happiness: number } | null; own_goals: boolean; inner_life: ('persona' | 'mood' | 'economy')[]; max_steps: number; temperature: number; max_tokens: number; parameters: { reasoning_effort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max' | undefined; thinking_tokens?: number | undefined; max_tokens?: number | undefined; temperature?: number | undefined; top_p?: number | undefined; stop?: string[] | undefined; seed?: number | undefined; verbosity?: 'low' | 'medium' | 'high' | undefined; extra?: Record<string, unknown> | undefined }; max_cost_usd: number; max_total_cost_usd: number; system_prompt: string; skills: string[]; toolkits: string[] | null; tools: string[] | null; core: string[] | null; workspace: string | string | { path: string; access?: 'read-only' | 'read-write' | undefined }; folders: (string | { path: string; access?: 'read-only' | 'read-write' | undefined })[]; worktree: 'agent' | 'goal' | null; autonomy: string } | null }[] }
  /** Answer a question of an agent. */
  'questions.answer': { input: { question_id: string; answer: string }; output: Question }
  /** Show a question in full. */
  'questions.get': { input: { question_id: string }; output: Question }
  /** List questions of agents to the operator. */
  'questions.list': { input: { limit?: number | undefined; offset?: number | undefined; agent?: string | undefined; status?: 'open' | 'answered' | 'expired' | 'all' | undefined }; output: Question[] }
  /** Compare two runs. */
  'recordings.diff': { input: { a: string; b: string }; output: RunDiff }
  /** Show a recording and its model answers. */
  'recordings.get': { input: { id: string }; output: { run_id: string; kind: string; within: string | null; v: number; svc_version: string; started_at: string; ended_at: string | null; seed: number; pid: number; owner: string; state: string | null; state_bytes: number; bytes: number; cycles: number; steps: number; cut: string | null; inexact: string[]; events_of: string; last_seq: number | null; forked_from: { run_id: string; step: number; at: string | null; model: string | null; plugin: string | null } | null; plugins: string[] | null; steps_taken: RecordedStep[] } }
  /** List recorded runs and forks, newest first. */
  'recordings.list': { input: { limit?: number | undefined; offset?: number | undefined }; output: { run_id: string; kind: string; within: string | null; v: number; svc_version: string; started_at: string; ended_at: string | null; seed: number; pid: number; owner: string; state: string | null; state_bytes: number; bytes: number; cycles: number; steps: number; cut: string | null; inexact: string[]; events_of: string; last_seq: number | null; forked_from: { run_id: string; step: number; at: string | null; model: string | null; plugin: string | null } | null; plugins: string[] | null }[] }
  /** Replay a run, or fork it at a step. */
  'recordings.replay': { input: { id: string; from?: number | undefined; model?: string | undefined; cycles?: number | undefined }; output: { verdict: ReplayVerdict | null; fork: { run_id: string; kind: string; within: string | null; v: number; svc_version: string; started_at: string; ended_at: string | null; seed: number; pid: number; owner: string; state: string | null; state_bytes: number; bytes: number; cycles: number; steps: number; cut: string | null; inexact: string[]; events_of: string; last_seq: number | null; forked_from: { run_id: string; step: number; at: string | null; model: string | null; plugin: string | null } | null; plugins: string[] | null } | null; diff: RunDiff | null } }
  /** Remove old records. */
  'retention.run': { input: { dry_run?: boolean | undefined }; output: { dry_run: boolean; before: string; rows: Record<string, number>; total: number; freed_bytes: number; duration_ms: number } }
  /** Export a run as one HTML page. */
  'runs.export': { input: { id: string; limit?: number | undefined }; output: string }
  /** Show a run. */
  'runs.get': { input: { id: string }; output: RunDetail }
  /** List runs, newest first. */
  'runs.list': { input: { limit?: number | undefined; offset?: number | undefined; since?: string | undefined; before?: string | undefined; order?: 'newest' | 'oldest' | undefined; kind?: 'daemon' | 'task' | undefined; status?: 'running' | 'ended' | 'crashed' | undefined; agent?: string | undefined }; output: Run[] }
  /** Show a run's trace as a tree of spans. */
  'runs.trace': { input: { run_id: string; agent_id?: string | undefined; limit?: number | undefined; after?: number | undefined; before?: number | undefined; newest?: boolean | undefined }; output: Trace }
  /** Show how agents' programs are sandboxed. */
  'sandbox.status': { input: Record<never, never>; output: SandboxStatus }
  /** Add a recurring goal. */
  'schedules.add': { input: { id: string; objective: string; every_n_cycles?: number | undefined; every?: number | undefined; cron?: string | undefined; time_zone?: string | undefined; missed?: 'once' | 'skip' | undefined; priority?: number | undefined; acceptance?: ({ command: string } | { file: string } | { rubric: string; model?: string | undefined } | { operator: true })[] | undefined }; output: Schedule }
  /** List recurring goals, of all agents or of one. */
  'schedules.all': { input: { agent?: string | undefined }; output: Schedule[] }
  /** Show a schedule. */
  'schedules.get': { input: { schedule_id: string }; output: Schedule }
  /** List an agent's schedules, oldest first. */
  'schedules.list': { input: { id: string }; output: Schedule[] }
  /** Remove a schedule. */
  'schedules.remove': { input: { schedule_id: string }; output: null }
  /** Enable or disable a schedule. */
  'schedules.update': { input: { schedule_id: string; enabled: boolean }; output: Schedule }
  /** Close a session. */
  'sessions.close': { input: { session_id: string }; output: null }
  /** Open a session, or find the running one. */
  'sessions.create': { input: { agent_id: string; session_key?: string | null | undefined; task?: string | undefined; metadata?: Record<string, unknown> | null | undefined }; output: { session_id: string; agent_id: string; agent_name: string | null; user_id: string; session_key: string | null; task: string; status: 'running' | 'expired' | 'closed'; started_at: string; last_active: string; completed_at: string | null; cost_usd: number; tokens: number; input_tokens: number; output_tokens: number; duration_ms: number; metadata: Record<string, unknown> | null; created: boolean } }
  /** Show a session. */
  'sessions.get': { input: { session_id: string }; output: { session_id: string; agent_id: string; agent_name: string | null; user_id: string; session_key: string | null; task: string; status: 'running' | 'expired' | 'closed'; started_at: string; last_active: string; completed_at: string | null; cost_usd: number; tokens: number; input_tokens: number; output_tokens: number; duration_ms: number; metadata: Record<string, unknown> | null } }
  /** List sessions, newest first. */
  'sessions.list': { input: { limit?: number | undefined; offset?: number | undefined; since?: string | undefined; before?: string | undefined; order?: 'newest' | 'oldest' | undefined; agent_id?: string | undefined; session_key?: string | undefined; status?: 'running' | 'expired' | 'closed' | undefined }; output: { session_id: string; agent_id: string; agent_name: string | null; user_id: string; session_key: string | null; task: string; status: 'running' | 'expired' | 'closed'; started_at: string; last_active: string; completed_at: string | null; cost_usd: number; tokens: number; input_tokens: number; output_tokens: number; duration_ms: number; metadata: Record<string, unknown> | null }[] }
  /** Show a skill in full. */
  'skills.get': { input: { name: string; agent?: string | undefined }; output: { name: string; description: string; source: 'project' | 'folder' | 'user' | 'plugin' | 'package'; file: string; license: string | null; allowed_tools: string | null; metadata: Record<string, string>; error: string | null; shadowed_by: string | null; body: string; files: string[] } }
  /** List skills that profiles may name. */
  'skills.list': { input: { agent?: string | undefined }; output: Skill[] }
  /** List what goals and tasks changed in your folders. */
  'snapshots.list': { input: { limit?: number | undefined; offset?: number | undefined; id: string }; output: FolderChange[] }
  /** Restore changes that were undone. */
  'snapshots.redo': { input: { id: string; change?: string | undefined }; output: { agent_id: string; change_id: string; folder: string; files: string[]; redone: boolean } }
  /** Show what a goal or task changed, line by line. */
  'snapshots.show': { input: { id: string; change?: string | undefined }; output: FolderChangeDetail }
  /** Undo what a goal or task changed in your folder. */
  'snapshots.undo': { input: { id: string; change?: string | undefined }; output: { agent_id: string; change_id: string; folder: string; files: string[]; redone: boolean } }
  /** Back up the database to a new file in .svc/backups/. */
  'store.backup': { input: Record<never, never>; output: DatabaseBackup }
  /** List an agent's sub-agents and their results. */
  'sub_agents.list': { input: { id: string }; output: SubAgent[] }
  /** Show an agent's stressors and their history. */
  'suffering.get': { input: { id: string; limit?: number | undefined; offset?: number | undefined }; output: SufferingReport }
  /** Show what happened while you were away. */
  'summary.show': { input: { hours?: number | undefined; since?: string | undefined; limit?: number | undefined; top?: number | undefined }; output: Summary }
  /** Show a swarm report and its actions. */
  'swarm.report': { input: { report_id: string }; output: SwarmReport }
  /** List swarm reports, newest first. */
  'swarm.reports': { input: { limit?: number | undefined; offset?: number | undefined }; output: SwarmReport[] }
  /** Undo a swarm report's actions. */
  'swarm.revert': { input: { report_id: string }; output: SwarmReport }
  /** List agents suited for a task, best first. */
  'swarm.route': { input: { task: string }; output: { agent_id: string; task_type: string; score: number; goals: number; active_goals: number; preferred: boolean }[] }
  /** Show the latest swarm report and agents' strengths. */
  'swarm.show': { input: Record<never, never>; output: SwarmStatus }
  /** Cancel a task. */
  'tasks.cancel': { input: { task_id: string }; output: { task_id: string; status: 'running' | 'completed' | 'failed' | 'max_steps' | 'waiting_approval' | 'waiting_answer'; output: string; steps_taken: number; tool_calls_made: number; session_id: string; approval_ids: string[]; question_ids: string[]; cost_usd: number; tokens: number; parsed: Record<string, unknown> | null; error: { type: string; title: string; status: number; detail: string; code: string; request_id: string; errors?: { path: string; message: string }[] | undefined } | null; agent_id: string; instruction: string; images: ImageRef[]; max_steps: number; response_schema: Record<string, unknown> | null; parameters: { reasoning_effort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max' | undefined; thinking_tokens?: number | undefined; max_tokens?: number | undefined; temperature?: number | undefined; top_p?: number | undefined; stop?: string[] | undefined; seed?: number | undefined; verbosity?: 'low' | 'medium' | 'high' | undefined; extra?: Record<string, unknown> | undefined } | null; toolkits: string[] | null; duration_ms: number; created_at: string; ended_at: string | null } }
  /** Follow a task's stream. */
  'tasks.follow': { input: { task_id: string; tool_calls?: boolean | undefined; wait?: boolean | undefined }; events: { token: { text: string }; reset: { message: string }; info: { code: string; message: string }; tool_result: { tool: string; ok: boolean; ran?: boolean | undefined; call_id: string; step: number; arguments: string; output: string }; approval_requested: { approval_id: string; tool_name: string; arguments: string }; done: { task_id: string; status: 'completed' | 'failed' | 'max_steps' | 'waiting_approval' | 'waiting_answer'; output: string; steps_taken: number; tool_calls_made: number; session_id: string; approval_ids: string[]; question_ids: string[]; cost_usd: number; tokens: number; parsed: Record<string, unknown> | null; error: { type: string; title: string; status: number; detail: string; code: string; request_id: string; errors?: { path: string; message: string }[] | undefined } | null }; error: { type: string; title: string; status: number; detail: string; code: string; request_id: string; errors?: { path: string; message: string }[] | undefined; task?: { task_id: string; status: 'completed' | 'failed' | 'max_steps' | 'waiting_approval' | 'waiting_answer'; output: string; steps_taken: number; tool_calls_made: number; session_id: string; approval_ids: string[]; question_ids: string[]; cost_usd: number; tokens: number; parsed: Record<string, unknown> | null; error: { type: string; title: string; status: number; detail: string; code: string; request_id: string; errors?: { path: string; message: string }[] | undefined } | null } | undefined } } }
  /** Show a task. */
  'tasks.get': { input: { task_id: string }; output: { task_id: string; status: 'running' | 'completed' | 'failed' | 'max_steps' | 'waiting_approval' | 'waiting_answer'; output: string; steps_taken: number; tool_calls_made: number; session_id: string; approval_ids: string[]; question_ids: string[]; cost_usd: number; tokens: number; parsed: Record<string, unknown> | null; error: { type: string; title: string; status: number; detail: string; code: string; request_id: string; errors?: { path: string; message: string }[] | undefined } | null; agent_id: string; instruction: string; images: ImageRef[]; max_steps: number; response_schema: Record<string, unknown> | null; parameters: { reasoning_effort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max' | undefined; thinking_tokens?: number | undefined; max_tokens?: number | undefined; temperature?: number | undefined; top_p?: number | undefined; stop?: string[] | undefined; seed?: number | undefined; verbosity?: 'low' | 'medium' | 'high' | undefined; extra?: Record<string, unknown> | undefined } | null; toolkits: string[] | null; duration_ms: number; created_at: string; ended_at: string | null } }
  /** List an agent's tasks, newest first. */
  'tasks.list': { input: { limit?: number | undefined; offset?: number | undefined; id: string; session_id?: string | undefined }; output: { task_id: string; status: 'running' | 'completed' | 'failed' | 'max_steps' | 'waiting_approval' | 'waiting_answer'; output: string; steps_taken: number; tool_calls_made: number; session_id: string; approval_ids: string[]; question_ids: string[]; cost_usd: number; tokens: number; parsed: Record<string, unknown> | null; error: { type: string; title: string; status: number; detail: string; code: string; request_id: string; errors?: { path: string; message: string }[] | undefined } | null; agent_id: string; instruction: string; images: ImageRef[]; max_steps: number; response_schema: Record<string, unknown> | null; parameters: { reasoning_effort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max' | undefined; thinking_tokens?: number | undefined; max_tokens?: number | undefined; temperature?: number | undefined; top_p?: number | undefined; stop?: string[] | undefined; seed?: number | undefined; verbosity?: 'low' | 'medium' | 'high' | undefined; extra?: Record<string, unknown> | undefined } | null; toolkits: string[] | null; duration_ms: number; created_at: string; ended_at: string | null }[] }
  /** Resume a task that waited for a decision or an answer. */
  'tasks.resume': { input: { task_id: string }; output: { task_id: string; status: 'completed' | 'failed' | 'max_steps' | 'waiting_approval' | 'waiting_answer'; output: string; steps_taken: number; tool_calls_made: number; session_id: string; approval_ids: string[]; question_ids: string[]; cost_usd: number; tokens: number; parsed: Record<string, unknown> | null; error: { type: string; title: string; status: number; detail: string; code: string; request_id: string; errors?: { path: string; message: string }[] | undefined } | null } }
  /** Run a task and wait for its answer. */
  'tasks.run': { input: { id: string; instruction: string; images?: { data: string; name?: string | undefined }[] | undefined; max_steps?: number | undefined; session_id?: string | null | undefined; session_key?: string | null | undefined; response_schema?: Record<string, unknown> | null | undefined; max_tokens?: number | null | undefined; parameters?: { reasoning_effort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max' | undefined; thinking_tokens?: number | undefined; max_tokens?: number | undefined; temperature?: number | undefined; top_p?: number | undefined; stop?: string[] | undefined; seed?: number | undefined; verbosity?: 'low' | 'medium' | 'high' | undefined; extra?: Record<string, unknown> | undefined } | null | undefined; toolkits?: string[] | null | undefined; wait?: boolean | undefined }; output: { task_id: string; status: 'running' | 'completed' | 'failed' | 'max_steps' | 'waiting_approval' | 'waiting_answer'; output: string; steps_taken: number; tool_calls_made: number; session_id: string; approval_ids: string[]; question_ids: string[]; cost_usd: number; tokens: number; parsed: Record<string, unknown> | null; error: { type: string; title: string; status: number; detail: string; code: string; request_id: string; errors?: { path: string; message: string }[] | undefined } | null } }
  /** Run a task and stream its answer. */
  'tasks.stream': { input: { id: string; instruction: string; images?: { data: string; name?: string | undefined }[] | undefined; max_steps?: number | undefined; session_id?: string | null | undefined; session_key?: string | null | undefined; response_schema?: Record<string, unknown> | null | undefined; max_tokens?: number | null | undefined; parameters?: { reasoning_effort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max' | undefined; thinking_tokens?: number | undefined; max_tokens?: number | undefined; temperature?: number | undefined; top_p?: number | undefined; stop?: string[] | undefined; seed?: number | undefined; verbosity?: 'low' | 'medium' | 'high' | undefined; extra?: Record<string, unknown> | undefined } | null | undefined; toolkits?: string[] | null | undefined; tool_calls?: boolean | undefined }; events: { token: { text: string }; reset: { message: string }; info: { code: string; message: string }; tool_result: { tool: string; ok: boolean; ran?: boolean | undefined; call_id: string; step: number; arguments: string; output: string }; approval_requested: { approval_id: string; tool_name: string; arguments: string }; done: { task_id: string; status: 'completed' | 'failed' | 'max_steps' | 'waiting_approval' | 'waiting_answer'; output: string; steps_taken: number; tool_calls_made: number; session_id: string; approval_ids: string[]; question_ids: string[]; cost_usd: number; tokens: number; parsed: Record<string, unknown> | null; error: { type: string; title: string; status: number; detail: string; code: string; request_id: string; errors?: { path: string; message: string }[] | undefined } | null }; error: { type: string; title: string; status: number; detail: string; code: string; request_id: string; errors?: { path: string; message: string }[] | undefined; task?: { task_id: string; status: 'completed' | 'failed' | 'max_steps' | 'waiting_approval' | 'waiting_answer'; output: string; steps_taken: number; tool_calls_made: number; session_id: string; approval_ids: string[]; question_ids: string[]; cost_usd: number; tokens: number; parsed: Record<string, unknown> | null; error: { type: string; title: string; status: number; detail: string; code: string; request_id: string; errors?: { path: string; message: string }[] | undefined } | null } | undefined } } }
  /** Show a session's transcript, oldest first. */
  'tasks.transcript': { input: { limit?: number | undefined; offset?: number | undefined; session_id: string }; output: { task_id: string; role: 'system' | 'user' | 'assistant' | 'tool'; content: string; tool_calls?: { id: string; name: string; arguments: unknown }[] | undefined; tool_call_id?: string | undefined; name?: string | undefined; is_error?: boolean | undefined; is_notice?: boolean | undefined; images?: ImageRef[] | undefined; summary?: { keeps: number; model: string; orders: string[]; older_orders: number } | undefined; at: string }[] }
  /** List to-do items, high priority first. */
  'todos.list': { input: { limit?: number | undefined; offset?: number | undefined; agent?: string | undefined; status?: 'pending' | 'done' | 'all' | undefined }; output: Todo[] }
  /** Mark a to-do item as done or open. */
  'todos.mark': { input: { todo_id: string; status: 'pending' | 'done' }; output: Todo }
  /** List an agent's tools and their prompt size. */
  'tools.list': { input: { id: string; for_tasks?: boolean | undefined }; output: { agent_id: string | null; budget_tokens: number; offered_tokens: number; all_tokens: number; tools: { name: string; toolkit: string; owner: string; tokens: number; offered: boolean; idempotent: boolean; requires_approval: boolean; danger: string | null; description: string }[] } }
  /** Merge an agent's changes into your repository. */
  'worktrees.accept': { input: { id: string; goal?: string | undefined; branch?: boolean | undefined }; output: { agent_id: string; repository: string; branch: string; commit: string; merged: boolean } }
  /** Show what an agent changed in its git worktree. */
  'worktrees.diff': { input: { id: string; goal?: string | undefined }; output: AgentChanges }
  /** Discard an agent's changes. */
  'worktrees.discard': { input: { id: string; goal?: string | undefined }; output: { agent_id: string; branch: string; base: string } }
}

export type DeletedAgent = { agent_id: string; kept_branches: { repository: string; branch: string }[] }

export type Fleet = { agents: FleetMember[]; matching: number; summary: { total: number; hidden: number; statuses: Record<string, number>; stuck: number; cost_usd: number; tokens: number; next: { agent_id: string; name: string; at: string } | null; asking: { agent_id: string; name: string; held: string }[]; reasons: { reason: string; agents: number; first: { agent_id: string; name: string }[] }[] } }

export type FleetMember = { agent_id: string; name: string; role: string; model: string; status: 'working' | 'idle' | 'waiting' | 'waiting_approval' | 'paused' | 'dead'; goal: string | null; steps: number | null; held: string | null; waits_for: 'approval' | 'answer' | 'work' | null; stuck: boolean; next_run_at: string | null; last_active: string | null; cost_usd: number; tokens: number; cycle_count: number; spawned_by: string | null }

export type Agent = { agent_id: string; name: string; role: string; model: string; status: 'working' | 'idle' | 'waiting' | 'waiting_approval' | 'paused' | 'dead'; goal: string | null; preset: string; goal_id: string | null; waiting_for: string | null; error: string | null; persona: Record<string, unknown> | null; suffering: Record<string, unknown> | null; mood: string | null; world: Record<string, unknown> | null; identity: Record<string, unknown> | null; budget: { pursuits: { agent_id: string; limit_usd: number | null; spent_usd: number }; total: { agent_id: string; limit_usd: number | null; spent_usd: number; reserved_usd: number } } | null; parameters: { reasoning_effort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max' | undefined; thinking_tokens?: number | undefined; max_tokens?: number | undefined; temperature?: number | undefined; top_p?: number | undefined; stop?: string[] | undefined; seed?: number | undefined; verbosity?: 'low' | 'medium' | 'high' | undefined; extra?: Record<string, unknown> | undefined } | null; workspace: string; folders: GivenFolder[]; sandbox: SandboxStatus | null; spawned_by: string | null; created_at: string; last_active: string | null; next_run_at: string | null; next: { at: string | null; reason: string }; cycle_count: number; cost_usd: number; tokens: number }

export type GivenFolder = { path: string; access: 'read-only' | 'read-write'; purpose?: 'worktree' | 'objects' | 'packages' | undefined }

export type SandboxStatus = { mode: 'auto' | 'required' | 'off'; wall: 'bubblewrap' | 'none'; network: boolean; reason: string }

export type AgentSummary = { agent_id: string; name: string; role: string; model: string; status: 'working' | 'idle' | 'waiting' | 'waiting_approval' | 'paused' | 'dead'; goal: string | null }

export type Specialization = { agent_id: string; goals: number; score: number; strengths: string[]; types: { task_type: string; goals: number; completed: number; rate: number; mean_duration_ms: number }[] }

export type StatusEntry = { agent_id: string; name: string; role: string; model: string; status: 'working' | 'idle' | 'waiting' | 'waiting_approval' | 'paused' | 'dead'; goal: string | null; failures: number; waiting_task: string | null; frozen_since: string | null }

export type Alarm = { alarm_id: string; agent_id: string; agent_name: string | null; description: string; at: string; status: 'pending' | 'fired'; created_by: string; created_at: string; fired_at: string | null }

export type Spending = { at: string; by: string | null; name: string | null; cost_usd: number; tokens: number; calls: number }

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

export type Goal = { goal_id: string; agent_id: string; objective: string; status: 'active' | 'completed' | 'abandoned'; priority: number; origin: string; parent_goal_id: string | null; reasoning: string | null; result: string | null; unconfirmed: boolean; steps_completed: number; cost_usd: number | null; tokens: number | null; acceptance: AcceptanceCheck[]; refusals: number; plan: PlanStep[]; after: string[]; question_id: string | null; waits_for: string | null; deadline: string | null; created_at: string; completed_at: string | null }

export type AcceptanceCheck = { command?: string | undefined; file?: string | undefined; rubric?: string | undefined; model?: string | undefined; operator?: true | undefined; met: boolean | null; problem: string | null }

export type PlanStep = { step: string; status: 'pending' | 'in_progress' | 'done' | 'skipped' }

export type ToolCall = { call_id: string; step: number; tool: string; arguments: string; state: string; ok: boolean | null; output: string | null; approval_id: string | null; started_at: string; ended_at: string | null }

export type AgentContext = { model: string; window: number; sections: { system: number; tools: number; messages: number; answer: number }; total: number; ratio: number; cleared: number; summarized: number; digested: number; cut: number; agent_id: string; goal_id: string | null; last_room_made: { at: string; how: 'summary' | 'digest' | 'cleared' | 'cut'; model: string; summary_model: string | null } | null }

export type SaidMessage = { role: 'system' | 'user' | 'assistant' | 'tool'; content: string; tool_calls?: { id: string; name: string; arguments: unknown; repaired?: string[] | undefined }[] | undefined; reasoning?: string | undefined; provider_data?: { model: string; fields: Record<string, unknown> } | undefined; dropped_calls?: number | undefined; tool_call_id?: string | undefined; name?: string | undefined; is_error?: boolean | undefined; is_notice?: boolean | undefined; is_report?: boolean | undefined; from_operator?: boolean | undefined; reports_until?: number | undefined; is_kept?: boolean | undefined; summary?: { keeps: number; model: string; orders: string[]; older_orders: number } | undefined; images?: ImageRef[] | undefined; at: string }

export type ImageRef = { sha256: string; media_type: 'image/png' | 'image/jpeg' | 'image/webp'; width: number; height: number; bytes: number; name?: string | undefined }

export type Identity = { agent_id: string; display_name: string; traits: string[]; domains: string[]; narrative: string; chapters: { index: number; summary: string; entry_count: number; started: string; ended: string }[]; worldview: string; opinions: { domain: string; opinion: string; formed_at: string }[]; open_questions: { question_id: string; question: string; asked_at: string }[]; evolution: { at: string; kind: 'opinion' | 'worldview' | 'question' | 'answer'; note: string }[]; created_at: string }

export type McpServer = { name: string; toolkit: string; transport: 'stdio' | 'http'; target: string; state: 'disabled' | 'idle' | 'starting' | 'connected' | 'waiting' | 'suspended'; error: string | null; retry_at: string | null; says_it_is: string | null; pid: number | null; profiles: string[] | null; pinned: boolean; calls: number; failures: number; restarts: number; tools: { name: string; tool: string; description: string; offered: boolean; problem: string | null }[] }

export type A2AMessage = { message_id: string; type: 'request' | 'response' | 'query' | 'answer' | 'review' | 'feedback' | 'delegate' | 'ack' | 'reject'; from_agent: string; to_agent: string; subject: string; body: string; reply_to: string | null; thread_id: string; priority: number; expects_reply: boolean; read: boolean; metadata: Record<string, unknown>; ts: string }

export type MessageGraph = { since: string; messages: number; complete: boolean; agents: { agent_id: string; name: string; alive: boolean; sent: number; received: number }[]; edges: { from_agent: string; to_agent: string; messages: number; types: Record<string, number>; last_at: string }[]; left_out: number }

export type Note = { note_id: string; text: string; tags: string[]; at: string }

export type PatternRun = { pattern_id: string; name: string; initiator: string; participants: string[]; task: string; rounds: number; budget: { usd: number | null; tokens: number | null }; spent: { usd: number; tokens: number }; status: 'running' | 'completed' | 'declined' | 'timed_out' | 'over_budget' | 'cancelled'; messages: number; waits_for: string[]; result: Record<string, unknown> | null; created_at: string; deadline: string; ended_at: string | null }

export type Question = { question_id: string; agent_id: string; agent_name: string | null; goal_id: string | null; task_id: string | null; question: string; options: string[]; free_text: boolean; default: string | null; default_at: string | null; status: 'open' | 'answered' | 'expired'; answer: string | null; answered_by: string | null; asked_at: string; answered_at: string | null }

export type RunDiff = { same: boolean; common: number; divergence: { agent_id: string | null; cycle_num: number | null; a: string; b: string } | null; a: { run_id: string; events: number; cycles: number; steps: number; tool_calls: number; goals_completed: number; tokens: number; cost_usd: number; after: { events: number; cycles: number; steps: number; tool_calls: number; goals_completed: number; tokens: number; cost_usd: number } }; b: { run_id: string; events: number; cycles: number; steps: number; tool_calls: number; goals_completed: number; tokens: number; cost_usd: number; after: { events: number; cycles: number; steps: number; tool_calls: number; goals_completed: number; tokens: number; cost_usd: number } } }

export type RecordedStep = { step: number; agent_id: string; cycle_num: number; says: string }

export type ReplayVerdict = { run_id: string; same: boolean; events: number; cycles: number; steps: number; hash: string; replayed_hash: string; duration_ms: number; divergence: Divergence | null; notes: string[] }

export type Divergence = { agent_id: string | null; cycle_num: number | null; step: number; seq: number | null; what: string; expected: string; got: string }

export type RunDetail = { cycles: number; goals_generated: number; goals_completed: number; goals_abandoned: number; model_calls: number; tool_calls: number; tool_failures: number; tokens: number; cost_usd: number; run_id: string; kind: string; status: 'running' | 'ended' | 'crashed'; started_at: string; ended_at: string | null; duration_s: number; exit: string | null; model: string; heartbeat: number | null; agents: number; agent_ids: string[]; agents_seen: RunAgent[]; svc_version: string; node: string; seed: number | null; model_config: Record<string, unknown>; profiles: string[]; plugins: { name: string; version: string; origin: string; state: string }[]; tools: string[]; agent_id: string | null; task_id: string | null; session_id: string | null }

export type RunAgent = { cycles: number; goals_generated: number; goals_completed: number; goals_abandoned: number; model_calls: number; tool_calls: number; tool_failures: number; tokens: number; cost_usd: number; agent_id: string; name: string; model: string; first_at: string; last_at: string }

export type Run = { cycles: number; goals_generated: number; goals_completed: number; goals_abandoned: number; model_calls: number; tool_calls: number; tool_failures: number; tokens: number; cost_usd: number; run_id: string; kind: string; status: 'running' | 'ended' | 'crashed'; started_at: string; ended_at: string | null; duration_s: number; exit: string | null; model: string; heartbeat: number | null; agents: number }

export type Trace = { run_id: string; total_spans: number; complete: boolean; next_after: number | null; next_before: number | null; left_out: number; broken_lines: number; root: Span }

export type Span = { span_id: string; parent_id: string | null; name: string; kind: 'run' | 'agent' | 'goal' | 'decision' | 'tool'; start_time: string; end_time: string | null; status: 'running' | 'ended' | 'crashed' | 'active' | 'completed' | 'abandoned' | 'ok' | 'error'; tokens: number; cost_usd: number; attributes: Record<string, unknown>; children: Span[] }

export type Schedule = { schedule_id: string; agent_id: string; agent_name: string | null; objective: string; every_n_cycles: number | null; every: number | null; cron: string | null; time_zone: string | null; priority: number; missed: 'once' | 'skip' | null; acceptance: ({ command: string } | { file: string } | { rubric: string; model?: string | undefined } | { operator: true })[]; enabled: boolean; created_by: string; created_at: string; next_at: string | null; next_cycle: number | null; held_by: string | null; fired: number; skipped: number; last_skip: string | null; last_fired_at: string | null; last_goal_id: string | null }

export type Skill = { name: string; description: string; source: 'project' | 'folder' | 'user' | 'plugin' | 'package'; file: string; license: string | null; allowed_tools: string | null; metadata: Record<string, string>; error: string | null; shadowed_by: string | null }

export type FolderChange = { change_id: string; agent_id: string; goal_id: string | null; task_id: string | null; subject: string; folder: string; began_at: string; ended_at: string | null; undone_at: string | null; files: number | null; problem: string | null }

export type FolderChangeDetail = { change_id: string; agent_id: string; goal_id: string | null; task_id: string | null; subject: string; folder: string; began_at: string; ended_at: string | null; undone_at: string | null; files: number | null; problem: string | null; changed: { path: string; status: 'added' | 'changed' | 'removed'; added: number | null; removed: number | null }[]; patch: string; truncated: boolean }

export type DatabaseBackup = { file: string; version: number; bytes: number; faults: string[] }

export type SubAgent = { sub_agent_id: string; parent_agent_id: string; name: string; role: string; task: string; status: 'running' | 'completed' | 'failed' | 'expired' | 'terminated'; result: string | null; ending: string | null; depth: number; cycles: number; max_cycles: number; goal_id: string | null; profile: string | null; cost_usd: number; created_at: string; completed_at: string | null }

export type SufferingReport = { load: number; crisis: boolean; level: 'calm' | 'prominent' | 'constrained' | 'dominant' | 'crisis'; mood: string; stressors: { stressor: string; severity: number; peak_severity: number; trend: 'rising' | 'easing'; condition: string; since: string }[]; waking_hours: number; agent_id: string; persona: { risk_tolerance: number; social_drive: number; concentration: number; autonomy_level: number; happiness: number }; base: { risk_tolerance: number; social_drive: number; concentration: number; autonomy_level: number; happiness: number }; home: { risk_tolerance: number; social_drive: number; concentration: number; autonomy_level: number; happiness: number }; enabled: boolean; thresholds: { prominent: number; constrained: number; dominant: number; crisis: number }; moments: number; history: { at: string; load: number; crisis: boolean; mood: string; severities: Record<string, number>; persona: { risk_tolerance: number; social_drive: number; concentration: number; autonomy_level: number; happiness: number }; base: { risk_tolerance: number; social_drive: number; concentration: number; autonomy_level: number; happiness: number } }[] }

export type Summary = { since: string; until: string; completed: number; unconfirmed: number; abandoned: number; cost_usd: number; model_calls: number; waiting: { kind: 'approval' | 'question'; id: string; agent_id: string; text: string; at: string }[]; agents: { agent_id: string; completed: number; unconfirmed: number; abandoned: number; cost_usd: number }[]; goals: { goal_id: string; agent_id: string; objective: string; status: 'completed' | 'abandoned'; unconfirmed: boolean; result: string | null; completed_at: string }[]; tasks: { ended: number; completed: number; cancelled: number; cost_usd: number; open: { task_id: string; agent_id: string; instruction: string; status: string; at: string }[] }; problems: { agent_id: string | null; text: string; times: number; last_at: string }[]; names: Record<string, string> }

export type SwarmReport = { agents: number; active_goals: number; figures: { success_rate: number | null; completed: number; abandoned: number; patterns: number; mean_specialization: number }; deltas: { success_rate: number | null; completed: number; abandoned: number; patterns: number; mean_specialization: number }; patterns: { kind: 'shared_capability' | 'specialization_emerging'; task_type: string | null; agents: string[] }[]; recommendations: { kind: 'routing' | 'knowledge' | 'specialization'; priority: number; agent_id: string | null; task_type: string | null; text: string }[]; report_id: string; beat: number; policy: string; effects: SwarmEffect[]; created_at: string; reverted_at: string | null }

export type SwarmEffect = { effect_id: string; report_id: string; kind: 'hint' | 'memory' | 'route' | 'rest'; topic: string; agent_id: string; text: string; status: 'planned' | 'in_force' | 'ended' | 'reverting' | 'reverted' | 'lifted'; created_at: string; ended_at: string | null }

export type SwarmStatus = { policy: string; acts: boolean; latest: SwarmReport | null; in_force: SwarmEffect[]; specializations: Specialization[] }

export type Todo = { todo_id: string; agent_id: string; agent_name: string | null; description: string; priority: 'high' | 'medium' | 'low'; status: 'pending' | 'done'; due: string | null; created_at: string; completed_at: string | null }

export type AgentChanges = { agent_id: string; repository: string; branch: string; goal_id: string | null; base: string; files: { path: string; status: 'added' | 'changed' | 'removed'; added: number | null; removed: number | null }[]; commits: { commit: string; subject: string }[]; uncommitted: boolean; patch: string; truncated: boolean; others: { branch: string; goal_id: string | null }[] }

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
  'images.get': { method: 'GET', path: '/images/{sha256}' },
  'mcp_servers.accept': { method: 'POST', path: '/mcp-servers/{name}/accept' },
  'mcp_servers.list': { method: 'GET', path: '/mcp-servers' },
  'mcp_servers.restart': { method: 'POST', path: '/mcp-servers/{name}/restart' },
  'memory.add': { method: 'POST', path: '/agents/{id}/memory' },
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
  'models.forget': { method: 'POST', path: '/models/forget' },
  'models.list': { method: 'GET', path: '/models' },
  'notes.list': { method: 'GET', path: '/agents/{id}/notes' },
  'notifications.test': { method: 'POST', path: '/notifications/test' },
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
  'questions.answer': { method: 'POST', path: '/questions/{question_id}/answer' },
  'questions.get': { method: 'GET', path: '/questions/{question_id}' },
  'questions.list': { method: 'GET', path: '/questions' },
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
  'skills.get': { method: 'GET', path: '/skills/{name}' },
  'skills.list': { method: 'GET', path: '/skills' },
  'snapshots.list': { method: 'GET', path: '/agents/{id}/changes' },
  'snapshots.redo': { method: 'POST', path: '/agents/{id}/changes/redo' },
  'snapshots.show': { method: 'GET', path: '/agents/{id}/changes/patch' },
  'snapshots.undo': { method: 'POST', path: '/agents/{id}/changes/undo' },
  'store.backup': { method: 'POST', path: '/database/backup' },
  'sub_agents.list': { method: 'GET', path: '/agents/{id}/sub-agents' },
  'suffering.get': { method: 'GET', path: '/agents/{id}/suffering' },
  'summary.show': { method: 'GET', path: '/summary' },
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
  'worktrees.accept': { method: 'POST', path: '/agents/{id}/diff/accept' },
  'worktrees.diff': { method: 'GET', path: '/agents/{id}/diff' },
  'worktrees.discard': { method: 'POST', path: '/agents/{id}/diff/discard' },
} as const
