import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { finished } from 'node:stream/promises'
import type { McpPipes } from '#interfaces/mcp/contract'
import type { Context } from '../context.ts'

/**
 * Environment variable with the parent's process ID. Programs that the child starts have another parent, so it does not
 * match for them.
 */
const PARENT = 'SVC_MCP_PARENT'
/** File descriptor in the child for the protocol. */
const PROTOCOL = 3

/** Returns whether this process is the MCP child. */
export function isMcpChild({ ports }: Pick<Context, 'ports'>): boolean {
  return ports.env[PARENT] === String(process.ppid)
}

/**
 * Runs this command again in a child whose standard output is this process's standard error. The protocol uses a
 * separate descriptor, so that output of a plugin or its child processes is not taken for a message.
 * @returns the child's exit code
 */
export async function runMcpChild({ ports }: Pick<Context, 'ports'>): Promise<number> {
  const child = ports.spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1)], {
    env: { ...ports.env, [PARENT]: String(process.pid) },
    stdio: ['inherit', 2, 2, 'pipe'],
  })
  const protocol = child.stdio[PROTOCOL] as Duplex
  protocol.on('error', () => {})
  protocol.pipe(process.stdout).on('error', () => protocol.destroy())
  let isStopping = false
  // The signal is passed on as data: a terminal sends Ctrl-C to the child as well, and a second signal would end it at
  // once.
  const stop = (name: NodeJS.Signals, number: number) => {
    if (isStopping) {
      child.kill('SIGKILL')
      process.exit(128 + number)
    }
    isStopping = true
    protocol.end(name)
  }
  process.on('SIGTERM', stop).on('SIGINT', stop)
  process.on('SIGHUP', () => {})
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (...ended) => resolve(ended))
  })
  if (code !== null || signal === null) return code ?? 1
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
  return 1
}

/** Returns the child's pipes for the protocol. `stopped` resolves with the signal that the parent received. */
export function mcpPipes(): McpPipes & { stopped: Promise<string> } {
  const protocol = new Socket({ fd: PROTOCOL, readable: true, writable: true, allowHalfOpen: true })
  let signal = ''
  protocol.setEncoding('utf8').on('data', text => {
    signal += text
  })
  const stopped = finished(protocol, { writable: false })
    .catch(() => {})
    .then(() => signal || 'the client is gone')
  return {
    input: process.stdin,
    stopped,
    write: text =>
      new Promise((resolve, reject) => {
        protocol.write(text, error => (error ? reject(error) : resolve()))
      }),
  }
}
