import type { HandWritten } from '../context.ts'
import { find, subcommandsOf, unknown } from '../parsing/find.ts'
import { allCommandsOf, groupOf, helpOf, overviewOf, section } from '../parsing/help.ts'
import { TOPICS } from '../parsing/topics.ts'

/** Shows help for a command, a group of commands, a topic, or all commands. */
const help: HandWritten = async ({ about, all }, { commands, terminal, tree, json }) => {
  const words = (about as string | undefined)?.split(' ') ?? []
  const topic = TOPICS[words[0] ?? '']
  const spec = find(commands, words)
  const group = spec || topic ? [] : subcommandsOf(commands, words)
  if (!spec && !topic && group.length === 0) throw unknown(commands, words)
  if (json) terminal.out(JSON.stringify(topic ? Object.fromEntries(topic.rows) : (spec ?? group), null, 2))
  else if (topic) terminal.out(section(topic.title, topic.rows, terminal))
  else if (all) terminal.out(allCommandsOf(commands, tree, terminal))
  else if (words.length === 0) terminal.out(overviewOf(commands, tree, terminal))
  else terminal.out(spec ? helpOf(spec, commands, terminal) : groupOf(group, terminal))
  return 0
}
export default help
