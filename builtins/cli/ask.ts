import { join, resolve } from 'node:path'
import { SvcError } from '#kernel'
import type { Context } from './context.ts'
import { type CommandTree, DaemonAnswerError, type OperationRef } from './contract.ts'

/**
 * Sends an operation to the project's daemon, over its socket.
 * @returns undefined when none answers there, or the operation has no place in its REST app
 * @throws SvcError, the one that the operation threw in the daemon
 */
export async function askDaemon(
  root: string,
  operation: OperationRef,
  input: Readonly<Record<string, unknown>>,
  { house, ports, tree }: Context,
): Promise<{ output: unknown } | undefined> {
  const request = requestOf(operation, input)
  if (!request) return undefined
  const svc = join(root, '.svc')
  const found = await house.findDaemon(ports, svc)
  if (!found?.alive || found.stalled) return undefined
  const answer = await send(resolve(svc, found.holder.socket), request)
  if (!answer) return undefined
  if (answer.status < 300) return { output: answer.text === '' ? null : bodyOf(answer) }
  throw errorOf(answer, tree.exits)
}

interface Request {
  method: string
  path: string
  body: string | undefined
}

/** The operation as a request; undefined when it has no place, or lacks a value that its path needs. */
function requestOf({ http }: OperationRef, input: Readonly<Record<string, unknown>>): Request | undefined {
  if (!http) return undefined
  const rest = new Map(Object.entries(input))
  let complete = true
  const path = http.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = rest.get(name)
    if (value === undefined) complete = false
    rest.delete(name)
    return encodeURIComponent(String(value))
  })
  if (!complete) return undefined
  if (http.method !== 'GET' && http.method !== 'DELETE') {
    return { method: http.method, path, body: rest.size > 0 ? JSON.stringify(Object.fromEntries(rest)) : undefined }
  }
  const query = new URLSearchParams()
  for (const [name, value] of rest) for (const each of [value].flat()) query.append(name, String(each))
  return { method: http.method, path: rest.size > 0 ? `${path}?${query}` : path, body: undefined }
}

interface Answer {
  status: number
  json: boolean
  text: string
}

async function send(socketPath: string, { method, path, body }: Request): Promise<Answer | undefined> {
  const { request } = await import('node:http')
  return new Promise((resolve, reject) => {
    const headers = { host: 'localhost', ...(body === undefined ? {} : { 'content-type': 'application/json' }) }
    const sent = request({ socketPath, method, path, headers }, response => {
      const parts: Buffer[] = []
      response.on('data', part => parts.push(part))
      response.once('error', failed)
      response.once('end', () => {
        const json = /\bjson\b/.test(response.headers['content-type'] ?? '')
        resolve({ status: response.statusCode!, json, text: Buffer.concat(parts).toString('utf8') })
      })
    })
    const failed = (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED') resolve(undefined)
      else reject(new DaemonAnswerError({ problem: error.message }))
    }
    sent.once('error', failed)
    sent.end(body)
  })
}

function bodyOf({ json, text }: Answer): unknown {
  if (!json) return text
  try {
    return JSON.parse(text)
  } catch {
    throw new DaemonAnswerError({ problem: 'what came is not JSON' })
  }
}

/** The problem document as the error that it was made from. */
function errorOf(answer: Answer, exits: CommandTree['exits']): SvcError {
  const problem = bodyOf(answer) as Partial<{ detail: string; code: string; title: string; errors: SvcError['errors'] }>
  const { detail, code = 'error', title, errors = [] } = problem
  return new SvcError(detail ?? `status ${answer.status}`, {
    code,
    status: answer.status,
    exit: exits[code] ?? 1,
    errors,
    ...(title === undefined ? {} : { title }),
  })
}
