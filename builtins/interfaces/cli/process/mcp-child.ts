import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { finished } from 'node:stream/promises'
import type { McpPipes } from '#interfaces/mcp/contract'
import type { Context } from '../context.ts'

/** The process ID of the parent, in the child's environment. A program that the child starts has another parent. */
const PARENT = 'SVC_MCP_PARENT'
/** The child's descriptor for the protocol. */
const PROTOCOL = 3

/** Whether this process is the child. */
export function isMcpChild({ ports }: Pick<Context, 'ports'>): boolean {
  return ports.env[PARENT] === String(process.ppid)
}

/**
 * Runs this command again in a child whose standard output is this process's standard error. The protocol passes over a
 * descriptor of its own, so that nothing a plugin or its child processes print is taken for a message.
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
  // Passed on as data: a terminal sends Ctrl-C to the child as well, and a second signal would end it at once.
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

/** What the child speaks over, and the end of that: its reason is the signal that the parent received. */
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
