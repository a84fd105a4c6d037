#!/usr/bin/env node
import module from 'node:module'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { homeFolder } from '#lib/home-folder'

// MCP clients may start the program by this name.
if (basename(process.argv[1] ?? '') === 'svc-mcp') process.argv.splice(1, 1, fileURLToPath(import.meta.url), 'mcp')

// As `NO_COLOR` wins, Node need not warn on standard error that both are set.
if (process.env['NO_COLOR']) delete process.env['FORCE_COLOR']

// Node 22 and newer cache compiled code, here in the user's own folder, because others may write to the temporary one.
const { enableCompileCache } = module as { enableCompileCache?(folder: string): unknown }
enableCompileCache?.(join(process.env['XDG_CACHE_HOME'] || join(homeFolder(), '.cache'), 'svc', 'compiled'))

const { run } = await import('./program.ts')
const exit = await run(process.argv.slice(2))
// A handle that a plugin left open does not keep the process alive.
process.exit(exit)
