import { idAndName } from '#lib/id-and-name'
import type { Context, HandWritten } from '../../context.ts'
import { Calls } from '../../operations/calls.ts'
import { hiddenLine } from '../../parsing/hidden.ts'
import { findProject } from '../../project/project.ts'
import { interruptible } from '../../screen/interrupt.ts'
import { printableJson } from '../../screen/printable.ts'
import { App } from '../../watch/app.ts'
import { Feed, OperatorActions, type Snapshot } from '../../watch/feed.ts'
import { eventLine } from '../../watch/page.ts'
import { plain } from '../../watch/paint.ts'
import { Screen } from '../../watch/screen.ts'

/** Shows activity live; prints lines if there is no terminal. */
const watch: HandWritten = async ({ compact, all }, context) => {
  const { ports, terminal, named, json } = context
  const root = await findProject(ports, named)
  return interruptible(ports.clock, async signal => {
    await using calls = new Calls(root, context)
    const feed = new Feed(calls, ports.clock, all === true)
    if (json || terminal.columns === undefined || !terminal.movesCursor || !process.stdin.isTTY) {
      return await printUpdates(feed, compact === true, signal, context)
    }
    // Awaited here, because the calls are closed afterwards.
    return await onScreen(feed, new OperatorActions(calls), compact === true, signal, context)
  })
}
export default watch

async function onScreen(
  feed: Feed,
  actions: OperatorActions,
  compact: boolean,
  interrupted: AbortSignal,
  { terminal, ports: { clock } }: Context,
): Promise<number> {
  using screen = new Screen(terminal)
  const stop = new AbortController()
  const ended = new Promise<number>(resolve => {
    interrupted.addEventListener('abort', () => resolve(130), { once: true })
    const redraw = () => screen.show(app.render(screen.columns, screen.rows, terminal.style))
    const app = new App({ feed, actions, clock, compact, redraw, quit: resolve })
    feed.onChange = redraw
    screen.open(bytes => app.press(bytes), redraw)
    redraw()
  })
  const fed = feed.run(stop.signal)
  const exit = await ended
  feed.onChange = () => {}
  stop.abort()
  screen[Symbol.dispose]()
  await fed
  return exit
}

/** Prints a line for each agent, then one for each event; in compact mode, one for each agent whose state changed. */
async function printUpdates(
  feed: Feed,
  compact: boolean,
  signal: AbortSignal,
  { terminal, json }: Context,
): Promise<number> {
  const printed = new Map<string, string>()
  const printAgents = ({ agents }: Snapshot) => {
    for (const agent of agents) {
      const { agent_id, status, goal, held } = agent
      const line = plain([`${idAndName(agent)}  ${status}  ${held ?? goal ?? ''}`.trimEnd()])
      if (printed.get(agent_id) !== line) terminal.out(json ? printableJson(JSON.stringify({ agent })) : line)
      printed.set(agent_id, line)
    }
  }
  const begun = await feed.readOnce()
  printAgents(begun)
  if (begun.hidden > 0 && !json) terminal.out(hiddenLine(begun.hidden, 'ended sub-agent'))
  let seen = 0
  feed.onChange = () => {
    if (compact) {
      printAgents(feed.snapshot)
      return
    }
    for (const event of feed.snapshot.events) {
      if (event.seq <= seen) continue
      seen = event.seq
      terminal.out(json ? printableJson(JSON.stringify({ event })) : plain(eventLine(event)))
    }
  }
  await feed.run(signal)
  return 0
}
