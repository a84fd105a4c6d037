import { join } from 'node:path'
import { AGENT_NAMES } from '../../completion/repository.ts'
import type { Context, HandWritten } from '../../context.ts'
import { forPeople, type LogLine } from '../../process/journal.ts'
import { LogFile } from '../../process/log-file.ts'
import { findProject } from '../../project/project.ts'
import { lineMasker } from '../../project/secrets.ts'
import { interruptible } from '../../screen/interrupt.ts'
import { printable, printableJson } from '../../screen/printable.ts'

/** The names of levels, and pino's numbers for them. */
const LEVELS: Readonly<Record<string, number>> = { debug: 20, info: 30, warn: 40, error: 50 }

/** Shows the log of the project's processes, formatted, or with `--json` as stored. Masks secrets. */
const logs: HandWritten = async ({ lines = 50, follow, agent, plugin, level = 'debug' }, context) => {
  const { ports, terminal, named } = context
  const least = LEVELS[String(level)]!
  const root = await findProject(ports, named)
  const log = new LogFile(root, ports)
  const mask = await lineMasker(root, ports)
  const ids = agent === undefined ? [] : await idsOf(String(agent), root, context)
  const isWanted = (line: string) => {
    const entry = read(line)
    if (!entry) return agent === undefined && plugin === undefined && least <= LEVELS.debug!
    return (
      entry.level >= least &&
      (agent === undefined ||
        entry.agent_id === agent ||
        entry.agent_id?.startsWith(`${agent}-`) === true ||
        ids.includes(entry.agent_id)) &&
      (plugin === undefined || entry.plugin === plugin)
    )
  }
  // A line may have been written before the secret in it was known as one, so it is masked again.
  const printLine = (stored: string) => {
    const line = mask(stored)
    if (context.json) terminal.out(printableJson(line))
    else terminal.out(read(line) ? forPeople(line, terminal.style) : printable(line))
  }
  return interruptible(ports.clock, async signal => {
    const { lines: last, at } = await log.tail(Number(lines), isWanted)
    for (const line of last) printLine(line)
    if (last.length === 0 && follow !== true) {
      terminal.err(
        at ? 'No line of the log matches.' : `${log.file} does not exist yet; svc start and svc serve write it.`,
      )
    }
    if (follow !== true) return 0
    for await (const line of log.follow(at, signal)) if (isWanted(line)) printLine(line)
    return 0
  })
}
export default logs

/** Returns the ids of the agents with a name; none if the database cannot be read now. */
async function idsOf(name: string, root: string, { program, ports }: Context): Promise<unknown[]> {
  const { peek } = await program.peek()
  const agents = await peek(join(root, '.svc', 'svc.db'), AGENT_NAMES, ports)
  return agents.filter(agent => agent.name === name).map(({ agent_id }) => agent_id)
}

function read(line: string): LogLine | undefined {
  try {
    const entry = JSON.parse(line) as LogLine
    return typeof entry.level === 'number' && !Number.isNaN(new Date(entry.time).getTime()) ? entry : undefined
  } catch {
    return undefined
  }
}
