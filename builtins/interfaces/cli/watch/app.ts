import { errorMessage, type Ports, SvcError } from '#kernel'
import { idAndName } from '#lib/id-and-name'
import type { Style } from '../screen/terminal.ts'
import type { Feed, OperatorActions } from './feed.ts'
import { keysOf } from './keys.ts'
import { HELP, type Overlay, page } from './page.ts'

const NOTHING: Overlay = { kind: 'none' }
/** Time for which the result of a key is shown, in milliseconds. */
const OUTCOME_MS = 5_000

export interface AppParts {
  feed: Feed
  actions: OperatorActions
  clock: Ports['clock']
  compact: boolean
  /** Redraws the page. */
  redraw: () => void
  /** Ends the program, with its exit code. */
  quit: (exit: number) => void
}

/** State of the page, and the actions of its keys. */
export class App {
  readonly #parts: AppParts
  #over: Overlay = NOTHING
  #notice = ''
  #forget = () => {}
  /** Handles the answer to the question that is shown. */
  #onAnswer: (answer: string) => void = () => {}
  /** Actions by key for the page of text that is shown. */
  #choices: Readonly<Record<string, () => void>> = {}

  constructor(parts: AppParts) {
    this.#parts = parts
  }

  render(columns: number, rows: number, style: Style): string[] {
    const { feed, clock, compact } = this.#parts
    const { snapshot } = feed
    const time = clock.now().toTimeString().slice(0, 8)
    return page({ snapshot, at: this.#at, over: this.#over, notice: this.#notice, time, compact }, columns, rows, style)
  }

  /** Position of the selected agent, which changes when agents above it end or are deleted. */
  get #at(): number {
    const { chosen, snapshot } = this.#parts.feed
    return Math.max(
      0,
      snapshot.agents.findIndex(({ agent_id }) => agent_id === chosen),
    )
  }

  /** Handles the bytes that the terminal sent. */
  press(bytes: string): void {
    for (const key of keysOf(bytes)) {
      if (key === 'ctrl-c') this.#parts.quit(130)
      else if (this.#over.kind === 'ask') this.#type(this.#over, key)
      else if (this.#over.kind === 'text') this.#read(this.#over, key)
      else this.#command(key)
    }
    this.#parts.redraw()
  }

  #command(key: string): void {
    const { feed, actions, quit } = this.#parts
    const agent = feed.snapshot.agents[this.#at]
    const frozen = feed.snapshot.daemon?.frozen === true
    if (key === 'q' || key === 'escape') quit(0)
    else if (key === 'up' || key === 'k') this.#choose(this.#at - 1)
    else if (key === 'down' || key === 'j') this.#choose(this.#at + 1)
    else if (key === '?') this.#show('Keys', HELP, {})
    else if (key === 'f')
      this.#confirm(frozen ? 'Thaw all agents?' : 'Freeze all agents?', () => actions.freezeOrThaw(frozen))
    else if (key === 'a') void this.#review()
    else if ((key === 'p' || key === 'n') && !agent) this.#say('There is no agent to choose.')
    else if (key === 'p') this.#do(() => actions.pauseOrResume(agent!))
    else if (key === 'n') {
      this.#ask(`To ${idAndName(agent!)}:`, message => {
        if (message.trim() !== '') this.#do(() => actions.nudge(agent!.agent_id, message))
      })
    }
  }

  #choose(at: number): void {
    const { feed } = this.#parts
    const { agents } = feed.snapshot
    feed.chosen = agents[Math.min(Math.max(0, at), agents.length - 1)]?.agent_id
    feed.look()
  }

  /**
   * Shows the approval that has waited longest, with all arguments of the call, before it is decided. Prefers those of
   * the selected agent.
   */
  async #review(): Promise<void> {
    const { feed, actions, redraw } = this.#parts
    const { approvals, agents } = feed.snapshot
    const own = approvals.find(({ agent_id }) => agent_id === agents[this.#at]?.agent_id)
    const waiting = own ?? approvals[0]
    if (!waiting) return this.#say('Nothing waits for a decision.')
    const before = this.#over
    try {
      const { approval_id, agent_id, tool_name, danger, args_sha256, ...call } = await actions.approval(
        waiting.approval_id,
      )
      // A key that is typed into another question must not approve the call.
      if (this.#over !== before) return
      const lines = [
        `${agent_id} wants to call ${tool_name}${danger ? ` (${danger})` : ''} with:`,
        ...JSON.stringify(call.arguments, null, 2).split('\n'),
        '',
        `SHA-256 of the arguments: ${args_sha256}`,
        ...(call.expires_at ? [`Denied automatically at ${call.expires_at}`] : []),
      ]
      this.#show(approval_id, lines, {
        y: () => this.#do(() => actions.decide(approval_id, 'approve')),
        d: () =>
          this.#ask('Reason for the denial (optional):', reason =>
            this.#do(() => actions.decide(approval_id, 'deny', reason)),
          ),
      })
      this.#notice = 'y approve  d deny  ↑↓ page  Esc back'
    } catch (error) {
      this.#say(errorMessage(error))
    }
    redraw()
  }

  #show(title: string, lines: readonly string[], choices: Readonly<Record<string, () => void>>): void {
    this.#over = { kind: 'text', title, lines, from: 0 }
    this.#choices = choices
    this.#notice = ''
  }

  #read(over: Overlay & { kind: 'text' }, key: string): void {
    const step = { up: -1, k: -1, down: 1, j: 1, 'page-up': -10, 'page-down': 10 }[key]
    if (step !== undefined) this.#over = { ...over, from: Math.max(0, over.from + step) }
    else {
      this.#over = NOTHING
      this.#notice = ''
      this.#choices[key]?.()
    }
  }

  #ask(question: string, onAnswer: (answer: string) => void): void {
    this.#over = { kind: 'ask', question, answer: '' }
    this.#onAnswer = onAnswer
  }

  #confirm(question: string, work: () => Promise<string>): void {
    this.#ask(`${question} y/n`, answer => {
      if (/^y(es)?$/i.test(answer.trim())) this.#do(work)
    })
  }

  #type(over: Overlay & { kind: 'ask' }, key: string): void {
    if (key === 'escape') this.#over = NOTHING
    else if (key === 'enter') {
      this.#over = NOTHING
      this.#onAnswer(over.answer)
    } else if (key === 'backspace') this.#over = { ...over, answer: [...over.answer].slice(0, -1).join('') }
    else if (key === 'ctrl-u') this.#over = { ...over, answer: '' }
    else if ([...key].length === 1) this.#over = { ...over, answer: over.answer + key }
  }

  #do(work: () => Promise<string>): void {
    this.#say('…')
    work().then(
      outcome => {
        this.#say(outcome)
        this.#parts.feed.look()
      },
      (error: unknown) => this.#say(error instanceof SvcError ? error.message : errorMessage(error)),
    )
  }

  #say(text: string): void {
    this.#forget()
    this.#notice = text
    this.#parts.redraw()
    this.#forget = this.#parts.clock.after(OUTCOME_MS, () => {
      this.#notice = ''
      this.#parts.redraw()
    })
  }
}
