import type { HandWritten } from '../context.ts'
import { find, unknown } from '../find.ts'
import { helpOf, overviewOf, section } from '../help.ts'
import { TOPICS } from '../topics.ts'

/** Says more of a command or a topic. */
const help: HandWritten = async ({ about }, { commands, terminal, tree, json }) => {
  const words = (about as string | undefined)?.split(' ') ?? []
  const topic = TOPICS[words[0] ?? '']
  if (topic && json) terminal.out(JSON.stringify(Object.fromEntries(topic.rows), null, 2))
  else if (topic) terminal.out(section(topic.title, topic.rows, terminal))
  else if (json) terminal.out(JSON.stringify(words.length === 0 ? commands : theOne(words), null, 2))
  else
    terminal.out(words.length === 0 ? overviewOf(commands, tree, terminal) : helpOf(theOne(words), commands, terminal))
  return 0

  function theOne(path: readonly string[]) {
    const found = find(commands, path)
    if (!found) throw unknown(commands, path)
    return found
  }
}
export default help
