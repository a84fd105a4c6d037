/**
 * Process that stores and forgets memories, again and again, and prints each once it is done:
 * `memory-writer.ts <file> <name> <from>` stores `<name>-<n>`, and forgets every third. It also searches, and
 * rewrites the file now and then. Runs until it is killed.
 */

import { Journal } from '#core/memory/files/journal'
import { Memories } from '#core/memory/memories'
import { systemPorts } from '#lib/system-ports'

const [, , file = '', name, from] = process.argv
const ports = systemPorts()
const log = { warn: (_: object, message: string) => process.stderr.write(`${message}\n`) } as never
const memories = new Memories(new Journal(file, { ports, log }), ports)
for (let n = Number(from); ; n++) {
  await memories.store(`what ${name} has to remember of number ${n}`, {}, `${name}-${n}`)
  process.stdout.write(`+${n}\n`)
  if (n % 3 === 0) {
    await memories.forget(`${name}-${n}`)
    process.stdout.write(`-${n}\n`)
  }
  await memories.search(`number ${n}`, 3)
  if (n % 11 === 0) await memories.consolidate(1, 0)
}
