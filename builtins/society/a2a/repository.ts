import { z } from '#kernel'
import {
  AMONG,
  allOf,
  type Condition,
  countRows,
  datesIn,
  defineEffect,
  getValue,
  insertIf,
  isoTime,
  jsonList,
  type ListWindow,
  listColumn,
  type Statement,
  type Store,
  type Stored,
} from '#platform/store/contract'
import { raiseValue } from '#platform/store/statements'
import { A2AMessage, type MessageFilter, MessageType, OPERATOR } from './contract.ts'

const COLUMNS = `seq, message_id, type, from_agent, coalesce(to_agent, '${OPERATOR}') AS to_agent, subject, body, reply_to,
  thread_id, priority, expects_reply, metadata, pattern_id, taken_from, created_at, read_at`

export interface MessageRow extends Stored<Omit<A2AMessage, 'read' | 'metadata' | 'ts'>, 'expects_reply'> {
  seq: number
  metadata: string
  pattern_id: string | null
  taken_from: string | null
  created_at: number
  read_at: number | null
}

export function messageOf(row: MessageRow): A2AMessage {
  const { seq: _, expects_reply, metadata, pattern_id, taken_from: __, created_at, read_at, ...rest } = row
  return {
    ...rest,
    expects_reply: expects_reply === 1,
    read: read_at !== null,
    metadata: { ...(JSON.parse(metadata) as Record<string, unknown>), ...(pattern_id === null ? {} : { pattern_id }) },
    ts: isoTime(created_at),
  }
}

export function findMessage(store: Store, message_id: string): Promise<MessageRow | undefined> {
  return store.get<MessageRow>(`SELECT ${COLUMNS} FROM a2a_messages WHERE message_id = ?`, [message_id])
}

/** Returns those of these ids that exist. */
export async function knownIds(store: Store, ids: readonly string[]): Promise<Set<string>> {
  return new Set(
    await listColumn(store, `SELECT message_id FROM a2a_messages WHERE message_id ${AMONG}`, [jsonList(ids)]),
  )
}

/** Returns the answer to a message, or its ACK when there is no other answer yet. */
export function answerTo(store: Store, message_id: string, from_agent: string): Promise<MessageRow | undefined> {
  return store.get<MessageRow>(
    `SELECT ${COLUMNS} FROM a2a_messages WHERE reply_to = ? AND from_agent = ?
     ORDER BY CASE WHEN type = 'ack' THEN 1 ELSE 0 END, seq LIMIT 1`,
    [message_id, from_agent],
  )
}

export function unreadMessages(store: Store, owner: string, limit: number): Promise<MessageRow[]> {
  return store.all<MessageRow>(
    `SELECT ${COLUMNS} FROM a2a_messages WHERE to_agent ${isOwner(owner)} AND read_at IS NULL
     ORDER BY priority DESC, seq LIMIT ?`,
    [...ownerParams(owner), limit],
  )
}

/** Number of an agent's newest messages that are searched for unanswered ones. */
const SEARCHED = 200

/** SQL: whether a message `m` that was read expects an answer of its recipient and has none. */
const IS_UNANSWERED = `expects_reply = 1 AND read_at IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM a2a_messages r WHERE r.reply_to = m.message_id AND r.from_agent = m.to_agent
    AND (r.type <> 'ack' OR m.type = 'delegate'))
  AND (from_agent = '${OPERATOR}' OR EXISTS (SELECT 1 FROM agents_view a WHERE a.agent_id = m.from_agent AND a.died_at IS NULL))`

/** Messages that an agent read, that expect an answer and have none, newest first. */
const UNANSWERED = `SELECT ${COLUMNS} FROM (SELECT * FROM a2a_messages WHERE to_agent = ? ORDER BY seq DESC LIMIT ${SEARCHED}) m
  WHERE ${IS_UNANSWERED} ORDER BY seq DESC LIMIT ?`

const DURING = `(SELECT * FROM a2a_messages WHERE to_agent = g.agent_id ORDER BY seq DESC LIMIT ${SEARCHED}) m
  WHERE read_at >= g.created_at AND ${IS_UNANSWERED}`
/** SQL condition on a goal `g`: its agent read a message for it or during it that it has not answered. */
export const HAS_UNANSWERED = `EXISTS (SELECT 1 FROM ${DURING})`

/**
 * SQL: whether a message `m` awaits an answer of an agent that can give one. Delegations and patterns report their
 * results themselves.
 */
const IS_AWAITED = `expects_reply = 1 AND type <> 'delegate' AND pattern_id IS NULL
  AND NOT EXISTS (SELECT 1 FROM a2a_messages r WHERE r.reply_to = m.message_id AND r.type <> 'ack')
  AND (to_agent IS NULL OR EXISTS (SELECT 1 FROM agents_view a WHERE a.agent_id = m.to_agent AND a.died_at IS NULL))`

/** Messages that an agent sent and that have no answer yet, newest first. */
const AWAITED = `SELECT ${COLUMNS} FROM (SELECT * FROM a2a_messages WHERE from_agent = ? ORDER BY seq DESC LIMIT ${SEARCHED}) m
  WHERE ${IS_AWAITED} ORDER BY seq DESC LIMIT ?`

/** Returns the messages without an answer that the agent of a goal sent during it, and since a time, oldest first. */
export function awaitedFor(store: Store, goal_id: string, since: number): Promise<MessageRow[]> {
  const of = (column: string) => `(SELECT ${column} FROM goals_view WHERE goal_id = ?)`
  return store.all<MessageRow>(
    `SELECT ${COLUMNS} FROM a2a_messages m WHERE from_agent = ${of('agent_id')} AND created_at >= ${of('created_at')}
     AND created_at > ? AND ${IS_AWAITED} ORDER BY seq`,
    [goal_id, goal_id, since],
  )
}

/** Returns the messages that the agent of a goal read for it or during it and has not answered, newest first. */
export function unansweredDuring(store: Store, goal_id: string): Promise<{ message_id: string; from_agent: string }[]> {
  return store.all(
    `SELECT m.message_id, m.from_agent FROM goals_view g JOIN a2a_messages m ON m.to_agent = g.agent_id
     WHERE g.goal_id = ? AND m.read_at >= g.created_at AND ${IS_UNANSWERED} ORDER BY m.seq DESC LIMIT 5`,
    [goal_id],
  )
}

/** Returns agents with an active goal that await an answer to a message which they sent between two times. */
export function sendersWithoutAnswer(store: Store, after: number, until: number): Promise<string[]> {
  return listColumn(
    store,
    `SELECT DISTINCT from_agent FROM a2a_messages m WHERE created_at > ? AND created_at <= ? AND ${IS_AWAITED}
     AND EXISTS (SELECT 1 FROM goals_view g WHERE g.agent_id = m.from_agent AND g.status = 'active')`,
    [after, until],
  )
}

export function unansweredMessages(store: Store, agent_id: string, limit: number): Promise<MessageRow[]> {
  return store.all<MessageRow>(UNANSWERED, [agent_id, limit])
}

/** Returns an agent's messages without an answer, at most `limit` of each kind: those it owes one, and those it awaits one for. */
export async function openMessages(store: Store, agent_id: string, limit: number) {
  const rows = await store.all<MessageRow>(
    `SELECT * FROM (${UNANSWERED}) AS unanswered UNION ALL SELECT * FROM (${AWAITED}) AS awaited`,
    [agent_id, limit, agent_id, limit],
  )
  const isAwaited = ({ from_agent }: MessageRow) => from_agent === agent_id
  return { unanswered: rows.filter(row => !isAwaited(row)), awaited: rows.filter(isAwaited) }
}

/**
 * Returns the messages to the operator that its nudges may answer, newest first: those sent after the last nudge that
 * was read before a time, and before a later or unread one.
 * @param since null: nudges count only until they are read
 */
export function questionsToOperator(
  store: Store,
  agent_id: string,
  since: number | null,
  limit: number,
): Promise<MessageRow[]> {
  const from = since ?? Number.MAX_SAFE_INTEGER
  const nudged = 'SELECT 1 FROM nudges_view n WHERE n.agent_id = m.from_agent AND n.created_at >= m.created_at'
  return store.all<MessageRow>(
    `SELECT ${COLUMNS} FROM a2a_messages m WHERE from_agent = ? AND to_agent IS NULL
     AND EXISTS (${nudged} AND (n.delivered_at IS NULL OR n.delivered_at >= ?))
     AND NOT EXISTS (${nudged} AND n.delivered_at < ?)
     ORDER BY seq DESC LIMIT ?`,
    [agent_id, from, from, limit],
  )
}

/** The seq of the newest message; 0 when there is none. */
export async function newestMessage(store: Store): Promise<number> {
  return (await store.get<{ seq: number | null }>('SELECT max(seq) AS seq FROM a2a_messages'))?.seq ?? 0
}

export function unreadCount(store: Store, owner: string): Promise<number> {
  return countRows(store, `FROM a2a_messages WHERE to_agent ${isOwner(owner)} AND read_at IS NULL`, ownerParams(owner))
}

export function threadLength(store: Store, thread_id: string): Promise<number> {
  return countRows(store, 'FROM a2a_messages WHERE thread_id = ?', [thread_id])
}

export function listMessages(
  store: Store,
  filter: MessageFilter,
  { limit = -1, offset = 0, order = 'newest' }: ListWindow,
) {
  const { where, params } = condition(filter)
  return store.all<MessageRow>(
    `SELECT ${COLUMNS} FROM a2a_messages WHERE ${where} ORDER BY seq ${order === 'newest' ? 'DESC' : 'ASC'} LIMIT ? OFFSET ?`,
    [...params, limit, offset],
  )
}

export function countMessages(store: Store, filter: MessageFilter): Promise<number> {
  const { where, params } = condition(filter)
  return countRows(store, `FROM a2a_messages WHERE ${where}`, params)
}

/** Returns the messages of a thread, oldest first, at most 1,000. */
export function messagesOfThread(store: Store, thread_id: string): Promise<MessageRow[]> {
  return store.all<MessageRow>(`SELECT ${COLUMNS} FROM a2a_messages WHERE thread_id = ? ORDER BY seq LIMIT 1000`, [
    thread_id,
  ])
}

export const Thread = z.object({
  thread_id: A2AMessage.shape.thread_id,
  subject: z.string(),
  with: z.string().describe('Other party of the first message'),
  messages: z.int(),
  unread: z.int(),
  last_at: z.iso.datetime(),
})
type ThreadRow = Stored<z.infer<typeof Thread>, 'last_at'>

/** Returns the threads that an agent takes part in, most active first. */
export function listThreads(store: Store, owner: string, limit: number, offset: number): Promise<ThreadRow[]> {
  return store.all<ThreadRow>(
    `SELECT t.thread_id, count(*) AS messages, max(t.created_at) AS last_at,
       count(*) FILTER (WHERE t.read_at IS NULL AND coalesce(t.to_agent, '${OPERATOR}') = ?) AS unread,
       (SELECT subject FROM a2a_messages f WHERE f.thread_id = t.thread_id ORDER BY f.seq LIMIT 1) AS subject,
       (SELECT CASE WHEN f.from_agent = ? THEN coalesce(f.to_agent, '${OPERATOR}') ELSE f.from_agent END
        FROM a2a_messages f WHERE f.thread_id = t.thread_id ORDER BY f.seq LIMIT 1) AS "with"
     FROM a2a_messages t WHERE t.thread_id IN
       (SELECT thread_id FROM a2a_messages WHERE from_agent = ? OR to_agent ${isOwner(owner)})
     GROUP BY t.thread_id ORDER BY max(t.seq) DESC LIMIT ? OFFSET ?`,
    [owner, owner, owner, ...ownerParams(owner), limit, offset],
  )
}

export async function countThreads(store: Store, owner: string): Promise<number> {
  const row = await store.get<{ n: number }>(
    `SELECT count(DISTINCT thread_id) AS n FROM a2a_messages WHERE from_agent = ? OR to_agent ${isOwner(owner)}`,
    [owner, ...ownerParams(owner)],
  )
  return row?.n ?? 0
}

/** Returns the messages after a sequence number, in sending order, to write them to mailboxes. */
export function messagesAfter(store: Store, seq: number, limit: number): Promise<MessageRow[]> {
  return store.all<MessageRow>(`SELECT ${COLUMNS} FROM a2a_messages WHERE seq > ? ORDER BY seq LIMIT ?`, [seq, limit])
}

function isOwner(owner: string): string {
  return owner === OPERATOR ? 'IS NULL' : '= ?'
}

function ownerParams(owner: string): string[] {
  return owner === OPERATOR ? [] : [owner]
}

function condition({ owner, box = 'all', unread, type, peer, thread_id, ...dates }: MessageFilter) {
  const inbox = { where: `to_agent ${isOwner(owner)}`, params: ownerParams(owner) }
  const outbox = { where: 'from_agent = ?', params: [owner] }
  const both = { where: `(${inbox.where} OR ${outbox.where})`, params: [...inbox.params, ...outbox.params] }
  const parts: Condition[] = [
    box === 'inbox' ? inbox : box === 'outbox' ? outbox : both,
    ...datesIn('created_at', dates),
  ]
  if (unread !== undefined) parts.push({ where: `read_at IS ${unread ? '' : 'NOT '}NULL`, params: [] })
  if (type !== undefined) parts.push({ where: 'type = ?', params: [type] })
  if (thread_id !== undefined) parts.push({ where: 'thread_id = ?', params: [thread_id] })
  if (peer !== undefined)
    parts.push({ where: `(from_agent = ? OR to_agent ${isOwner(peer)})`, params: [peer, ...ownerParams(peer)] })
  return allOf(parts)
}

const NewMessage = z.object({
  message_id: z.string(),
  type: MessageType,
  from_agent: z.string(),
  to_agent: z.string(),
  subject: z.string(),
  body: z.string(),
  reply_to: z.string().nullable(),
  thread_id: z.string(),
  priority: z.int(),
  expects_reply: z.boolean(),
  metadata: z.record(z.string(), z.unknown()),
  pattern_id: z.string().nullable(),
  taken_from: z.enum(['inbox', 'outbox']).nullable(),
  /** Whether a policy answered the message already, so that the agent need not read it. */
  read: z.boolean(),
})

/** Inserts one message. Does nothing when the id exists or the recipient was deleted. */
export const insertMessage = defineEffect({ name: 'a2a.send', schema: NewMessage, statements: inserting })

/** Like `insertMessage`, but the whole commit is refused when the message exists: only one process can send it. */
export const insertOnce = defineEffect({
  name: 'a2a.send_once',
  mustChange: true,
  schema: NewMessage,
  statements: inserting,
})

function inserting({ to_agent, metadata, read, ...row }: z.output<typeof NewMessage>, now: number): Statement {
  const to = to_agent === OPERATOR ? null : to_agent
  return insertIf(
    'a2a_messages',
    { ...row, to_agent: to, metadata: JSON.stringify(metadata), created_at: now, read_at: read ? now : null },
    { where: '? IS NULL OR EXISTS (SELECT 1 FROM agents_view WHERE agent_id = ?)', params: [to, to] },
    'ON CONFLICT (message_id) DO NOTHING',
  )
}

/** Returns messages between two agents since a time, outside of patterns, newest first. */
export function recentExchange(store: Store, one: string, other: string, since: number, limit: number) {
  return store.all<{ from_agent: string; body: string; reply_to: string | null }>(
    `SELECT from_agent, body, reply_to FROM a2a_messages WHERE from_agent IN (?, ?) AND to_agent IN (?, ?)
     AND created_at > ? AND pattern_id IS NULL ORDER BY seq DESC LIMIT ?`,
    [one, other, one, other, since, limit],
  )
}

/** Returns an agent's unanswered questions since a time, newest first. */
export function openQuestions(store: Store, from_agent: string, since: number, limit: number) {
  return store.all<{ body: string }>(
    `SELECT body FROM a2a_messages q WHERE from_agent = ? AND expects_reply = 1 AND type <> 'delegate' AND created_at > ? AND pattern_id IS NULL
     AND NOT EXISTS (SELECT 1 FROM a2a_messages r WHERE r.reply_to = q.message_id AND r.type <> 'ack')
     ORDER BY seq DESC LIMIT ?`,
    [from_agent, since, limit],
  )
}

/** Marks messages as read, in the commit that records the model's answer to the prompt containing them. */
export const messagesRead = defineEffect({
  name: 'a2a.read',
  schema: z.object({ message_ids: z.array(z.string()) }),
  statements: ({ message_ids }, now) =>
    message_ids.map(message_id => ({
      sql: 'UPDATE a2a_messages SET read_at = ? WHERE message_id = ? AND read_at IS NULL',
      params: [now, message_id],
    })),
})

const HORIZON = { namespace: 'a2a', key: 'pruned_before' }

/** Records the time of the newest pruned message, so that rereading a mailbox does not import old messages again. */
export function noteHorizon(message_ids: readonly string[]): Statement {
  return raiseValue(HORIZON, {
    sql: `SELECT max(created_at) + 1 AS value FROM a2a_messages WHERE message_id ${AMONG} HAVING count(*) > 0`,
    params: [jsonList(message_ids)],
  })
}

/** Returns the time before which messages may have been pruned, in milliseconds. */
export async function prunedBefore(store: Store): Promise<number> {
  return Number((await getValue(store, HORIZON)) ?? 0)
}

export interface MailboxRow {
  inode: number
  taken: number
}

export function mailboxOf(store: Store, agent_id: string, box: string): Promise<MailboxRow | undefined> {
  return store.get('SELECT inode, taken FROM a2a_mailboxes WHERE agent_id = ? AND box = ?', [agent_id, box])
}

/** Records the position up to which a mailbox was imported. Does nothing for a deleted agent. */
export const mailboxTaken = defineEffect({
  name: 'a2a.mailbox_taken',
  schema: z.object({ agent_id: z.string(), box: z.string(), inode: z.int(), taken: z.int() }),
  statements: ({ agent_id, ...row }) =>
    insertIf(
      'a2a_mailboxes',
      { ...row, agent_id },
      { where: 'EXISTS (SELECT 1 FROM agents_view WHERE agent_id = ?)', params: [agent_id] },
      'ON CONFLICT (agent_id, box) DO UPDATE SET inode = excluded.inode, taken = excluded.taken',
    ),
})

export const A2A_EFFECTS = [insertMessage, insertOnce, messagesRead, mailboxTaken]
