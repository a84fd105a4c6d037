import type { HandWritten } from '../context.ts'
import { below, find, unknown } from '../find.ts'
import { groupOf, helpOf, overviewOf, section } from '../help.ts'
import { TOPICS } from '../topics.ts'

/** Says more of a command, of those that begin alike, or of a topic. */
const help: HandWritten = async ({ about }, { commands, terminal, tree, json }) => {
  const words = (about as string | undefined)?.split(' ') ?? []
  const topic = TOPICS[words[0] ?? '']
  const spec = find(commands, words)
  const group = spec || topic ? [] : below(commands, words)
  if (!spec && !topic && group.length === 0) throw unknown(commands, words)
  if (json) terminal.out(JSON.stringify(topic ? Object.fromEntries(topic.rows) : (spec ?? group), null, 2))
  else if (topic) terminal.out(section(topic.title, topic.rows, terminal))
  else if (words.length === 0) terminal.out(overviewOf(commands, tree, terminal))
  else terminal.out(spec ? helpOf(spec, commands, terminal) : groupOf(group, terminal))
  return 0
}
export default help
