#!/usr/bin/env node
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { keepCompiled } from '../../../build/pieces.ts'

// The name by which MCP clients of long standing start it.
if (basename(process.argv[1] ?? '') === 'svc-mcp') process.argv.splice(1, 1, fileURLToPath(import.meta.url), 'mcp')

const words = process.argv.slice(2)
keepCompiled(words.includes('start') || words.includes('serve') ? 'service' : 'command', process.env)
const { run } = await import('./program.ts')
const exit = await run(words)
// What a plugin forgot to close keeps no process alive.
process.exit(exit)
