#!/usr/bin/env node
import module from 'node:module'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

// The name by which MCP clients of long standing start it.
if (basename(process.argv[1] ?? '') === 'svc-mcp') process.argv.splice(1, 1, fileURLToPath(import.meta.url), 'mcp')

// What Node compiled at one start need not be compiled at the next (22.1 and later). Not in a folder that others may write to:
// what lies there is run.
const { enableCompileCache } = module as { enableCompileCache?: (folder: string) => unknown }
enableCompileCache?.(join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'svc', 'compiled'))

const { run } = await import('./program.ts')
const exit = await run(process.argv.slice(2))
// What a plugin forgot to close keeps no process alive.
process.exit(exit)
