import { join } from 'node:path'
import { main } from '#interfaces/cli/main'
import type { Ran } from '../support/cli.ts'

/**
 * Returns what the command line prints for words that are refused before anything starts, without a new process.
 * Replaces standard output, standard error and the working directory of this process meanwhile.
 */
export async function runInProcess(words: readonly string[], cwd: string): Promise<Ran> {
  const { stdout, stderr } = process
  const said = { stdout: '', stderr: '' }
  const before = process.cwd()
  const writes = { stdout: stdout.write, stderr: stderr.write }
  const listening = new Set([...stdout.listeners('error'), ...stderr.listeners('error')])
  const none = async () => {
    throw new Error('these words were not refused')
  }
  stdout.write = text => {
    said.stdout += String(text)
    return true
  }
  stderr.write = text => {
    said.stderr += String(text)
    return true
  }
  process.chdir(cwd)
  try {
    const code = await main(words, {
      packageRoot: join(import.meta.dirname, '../..'),
      open: none,
      configOf: none,
      findDaemon: async () => undefined,
      findDaemons: async () => [],
      findServers: async () => [],
      mcpStdio: none,
      databaseFiles: none,
      databaseServer: none,
      doctor: none,
      checkout: none,
      simulate: none,
      peek: none,
    })
    return { code, ...said }
  } finally {
    for (const stream of [stdout, stderr]) {
      stream.write = stream === stdout ? writes.stdout : writes.stderr
      for (const hear of stream.listeners('error')) if (!listening.has(hear)) stream.off('error', hear as () => void)
    }
    process.chdir(before)
  }
}
