import { join } from 'node:path'
import { AgentNotFoundError, Agents, AmbiguousAgentError } from '#core/agents/contract'
import { type Effect, errorMessage, type PluginHandle } from '#kernel'
import { isTransient } from '#lib/errors'
import { keyedMutex } from '#lib/keyed-mutex'
import { lockFile } from '#lib/lock'
import type { Wake } from '#platform/heartbeat/contract'
import { getValue, Store, setValue, wakeAgents } from '#platform/store/contract'
import { type WatchedPath, Watcher } from '#platform/waking/contract'
import { type Draft, Mail, OPERATOR } from '../contract.ts'
import {
  knownIds,
  type MessageRow,
  mailboxOf,
  mailboxTaken,
  messageOf,
  messagesAfter,
  newestMessage,
  prunedBefore,
} from '../repository.ts'
import { ForeignLine, type Line, lineOf, Mailbox, type MailboxKind } from './mailbox.ts'

/** Default interval for polling the mailboxes, in seconds. */
const LOOK_S = 1
/** Number of messages written at a time. */
const BATCH_SIZE = 500
/** Maximum number of folders watched with file events; beyond that, lines are found by polling. */
const WATCHED = 64
const CURSOR = { namespace: 'a2a', key: 'mailboxes' }
/** Sender of a foreign line that names none. */
const OUTSIDE = 'outside'
const BOXES: readonly MailboxKind[] = ['inbox', 'outbox']
/** Pattern of a mailbox folder's name: an agent's id. */
const FOLDER = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/
/** Lock file of the writing process. Its name cannot be an agent's id. */
const LOCK = '.lock'

/**
 * Mirrors messages in `.svc/a2a/<agent_id>/inbox.jsonl` and `outbox.jsonl`. The rows are the source of truth:
 * one process at a time writes each message to its file once, with its id, also after a crash. Lines that other programs
 * append are imported once, by their ids, and wake their recipients.
 */
export class Mailboxes {
  readonly #svc: PluginHandle
  readonly #folder: string
  readonly #boxes = new Map<string, Mailbox>()
  /** Last problem of each mailbox that could not be imported. */
  readonly #importProblems = new Map<string, string>()
  /** Serializes writing and reading, so that own lines are not imported. */
  readonly #inTurn = keyedMutex()
  #problem: string | undefined
  /** Newest message that is in its file. */
  #newest: number | undefined

  constructor(svc: PluginHandle) {
    this.#svc = svc
    this.#folder = join(svc.project.svc, 'a2a')
  }

  /** A wake source: resolves when foreign lines were imported, with the agents that received them. */
  async wait(signal: AbortSignal): Promise<Wake> {
    const look = async () => {
      const agents = await this.#inTurn('', () => this.#importMail())
      return agents.size > 0 ? { reason: 'a2a_message', agents: [...agents] } : undefined
    }
    if (this.#svc.has(Watcher)) return this.#svc.use(Watcher).until(() => this.#places(), look, signal)
    for (;;) {
      const seconds = Number(this.#svc.config.get('daemon.wake_poll_interval') ?? LOOK_S)
      await this.#svc.clock.sleep(seconds * 1000, signal)
      signal.throwIfAborted()
      const found = await look()
      if (found) return found
    }
  }

  /** Returns the paths to watch for new lines: the parent folder, and each mailbox folder while there are few. */
  async #places(): Promise<WatchedPath[]> {
    // A missing folder cannot be watched.
    await this.#svc.ports.files.mkdir(this.#folder, { recursive: true, mode: 0o700 }).catch(() => {})
    const folders = await this.#folders()
    const isMany = folders.length > WATCHED
    const watched = isMany ? [] : folders.map(name => ({ folder: join(this.#folder, name) }))
    return [{ folder: this.#folder, partial: isMany }, ...watched]
  }

  async #folders(): Promise<string[]> {
    const names = await this.#svc.ports.files.readdir(this.#folder).catch(() => [])
    return names.filter(name => FOLDER.test(name))
  }

  /** Writes messages until the signal is aborted, then the remaining ones. */
  async project(signal: AbortSignal): Promise<void> {
    let seen = ''
    for (let ending = false; !ending; ) {
      seen = await this.#svc.use(Store).waitForChange(seen, signal)
      ending = signal.aborted
      try {
        await this.#inTurn('', () => this.#write())
        this.#problem = undefined
      } catch (error) {
        const problem = errorMessage(error)
        if (problem !== this.#problem) this.#svc.log.warn({}, `cannot write the mailbox files, retrying: ${problem}`)
        this.#problem = problem
        seen = ''
      }
    }
  }

  async #write(): Promise<void> {
    const store = this.#svc.use(Store)
    const newest = await newestMessage(store)
    if (newest === this.#newest) return
    if (newest > (await this.#cursor(store))) await this.#writeLocked(store)
    this.#newest = newest
  }

  async #writeLocked(store: Store): Promise<void> {
    const { files } = this.#svc.ports
    await files.mkdir(this.#folder, { recursive: true, mode: 0o700 })
    // Another daemon of the project may write too.
    const release = await lockFile(join(this.#folder, LOCK), this.#svc.ports)
    try {
      await this.#writeAll(store)
    } finally {
      await release()
    }
  }

  async #writeAll(store: Store): Promise<void> {
    let cursor = await this.#cursor(store)
    for (;;) {
      const rows = await messagesAfter(store, cursor, BATCH_SIZE)
      const last = rows.at(-1)
      if (!last) return
      const taken: Effect[] = []
      for (const { agent_id, box, lines } of linesOf(rows)) {
        // Messages of a deleted agent were deleted with it.
        if (!(await this.#isAgent(agent_id))) continue
        const place = await (await this.#box(agent_id, box)).append(lines)
        if (place) taken.push(mailboxTaken({ agent_id, box, ...place }))
      }
      cursor = last.seq
      await store.apply([...taken, setValue({ ...CURSOR, value: cursor })])
    }
  }

  async #importMail(): Promise<Set<string>> {
    const reached = new Set<string>()
    for (const agent_id of await this.#folders()) {
      for (const box of BOXES) {
        const key = keyOf(agent_id, box)
        try {
          await this.#importMailbox(agent_id, box, reached)
          this.#importProblems.delete(key)
        } catch (error) {
          // Opened again, so that it is read from its recorded position, even if it does not change.
          this.#boxes.delete(key)
          const problem = `cannot import the ${box} of the agent, retrying: ${errorMessage(error)}`
          if (problem !== this.#importProblems.get(key)) this.#svc.log.warn({ agent_id }, problem)
          this.#importProblems.set(key, problem)
        }
      }
    }
    return reached
  }

  /** @param reached gets the recipients of the messages that are sent, also if a later one fails */
  async #importMailbox(agent_id: string, box: MailboxKind, reached: Set<string>): Promise<void> {
    const store = this.#svc.use(Store)
    const mailbox = await this.#box(agent_id, box)
    if (!(await mailbox.hasNewMail()) || !(await this.#isAgent(agent_id))) return
    const { lines, place } = await mailbox.read()
    for (const message of await this.#unknownMessages(lines, mailbox)) {
      try {
        const { message: sent, effects } = await this.#svc.use(Mail).post(draftOf(message, agent_id, box))
        // The wake source wakes the recipients.
        if (!(await store.apply(effects.filter(({ effect }) => effect !== wakeAgents.kind.name)))) continue
        if (!sent.read) reached.add(sent.to_agent)
      } catch (error) {
        // The line is valid.
        if (isTransient(error)) throw error
        mailbox.bad(JSON.stringify(message), errorMessage(error))
      }
    }
    await mailbox.moveBadLines()
    await store.apply([mailboxTaken({ agent_id, box, ...place })])
    mailbox.acknowledge(place)
  }

  /**
   * Returns the messages of these lines that are not known yet. An invalid line is moved aside and does not
   * block others.
   */
  async #unknownMessages(lines: readonly string[], mailbox: Mailbox): Promise<ForeignLine[]> {
    const store = this.#svc.use(Store)
    const found = new Map<string, ForeignLine>()
    for (const line of lines) {
      const { data } = ForeignLine.safeParse(jsonOr(line))
      if (data) found.set(data.message_id, data)
      else mailbox.bad(line, 'it is not a valid message')
    }
    const ids = [...found.keys()]
    for (let at = 0; at < ids.length; at += BATCH_SIZE) {
      for (const id of await knownIds(store, ids.slice(at, at + BATCH_SIZE))) found.delete(id)
    }
    const horizon = found.size > 0 ? await prunedBefore(store) : 0
    return [...found.values()].filter(({ ts }) => ts === undefined || !(Date.parse(ts) < horizon))
  }

  async #box(agent_id: string, box: MailboxKind): Promise<Mailbox> {
    const key = keyOf(agent_id, box)
    const known = this.#boxes.get(key)
    if (known) return known
    const { ports, log } = this.#svc
    const mailbox = new Mailbox({
      files: ports.files,
      file: join(this.#folder, agent_id, `${box}.jsonl`),
      warn: problem => log.warn({ agent_id }, problem),
      taken: await mailboxOf(this.#svc.use(Store), agent_id, box),
    })
    this.#boxes.set(key, mailbox)
    return mailbox
  }

  /** Returns whether an agent has this id. Only then a folder is a mailbox. */
  async #isAgent(id: string): Promise<boolean> {
    const agent = await this.#svc
      .use(Agents)
      .find(id)
      .catch(error => {
        if (error instanceof AgentNotFoundError || error instanceof AmbiguousAgentError) return undefined
        throw error
      })
    return agent?.agent_id === id
  }

  async #cursor(store: Store): Promise<number> {
    return Number((await getValue(store, CURSOR)) ?? 0)
  }
}

function keyOf(agent_id: string, box: MailboxKind): string {
  return `${agent_id}/${box}`
}

/** Groups the lines of messages by mailbox. */
function linesOf(rows: readonly MessageRow[]) {
  const boxes = new Map<string, { agent_id: string; box: MailboxKind; lines: Line[] }>()
  for (const row of rows) {
    const line = lineOf(messageOf(row))
    for (const box of BOXES) {
      const agent_id = box === 'inbox' ? row.to_agent : row.from_agent
      if (row.taken_from === box || agent_id === OPERATOR || !FOLDER.test(agent_id)) continue
      const key = keyOf(agent_id, box)
      const { lines } = boxes.get(key) ?? { lines: [] }
      boxes.set(key, { agent_id, box, lines: [...lines, line] })
    }
  }
  return boxes.values()
}

/** Returns the message of a line. An outbox sends only for its own agent, and no file sends for the operator. */
function draftOf(line: ForeignLine, agent_id: string, box: MailboxKind): Draft {
  const { from_agent, to_agent, ts: _, reply_to, ...rest } = line
  const from = box === 'outbox' ? agent_id : (from_agent ?? OUTSIDE)
  const to = box === 'inbox' ? agent_id : to_agent
  if (from === OPERATOR) throw new Error('from_agent must not be operator; the operator sends messages with svc send')
  if (to === undefined) throw new Error('to_agent is missing')
  if (box === 'outbox' && from_agent !== undefined && from_agent !== agent_id)
    throw new Error('from_agent is not the owner of this outbox')
  if (box === 'inbox' && to_agent !== undefined && to_agent !== agent_id)
    throw new Error('to_agent is not the owner of this inbox')
  return { ...rest, from_agent: from, to, taken_from: box, ...(reply_to === undefined ? {} : { reply_to }) }
}

function jsonOr(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
