/**
 * Process that increments one key of a project's configuration, again and again, and prints each number once it is
 * written: `config-writer.ts <file> <key> <from>`. Runs until it is killed.
 */

import { z } from '#kernel'
import { systemPorts } from '#lib/system-ports'
import { Config } from '#platform/settings/config'

const [, , file, key = '', from] = process.argv
const config = new Config(file!, systemPorts())
await config.open()
const shape = Object.fromEntries(['a', 'b', 'c', 'd'].map(name => [name, z.number().int().default(0)]))
config.section('counts', z.object(shape), 'writer').add()
for (let n = Number(from) + 1; ; n++) {
  await config.patch({ counts: { [key]: n } })
  process.stdout.write(`${n}\n`)
}
