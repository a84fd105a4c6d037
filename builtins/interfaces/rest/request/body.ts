import { errorMessage } from '#kernel'
import { MalformedRequestError } from '../contract.ts'

/** Maximum nesting of JSON; valid input has only a few levels. */
const MAX_DEPTH = 32
// A byte order mark is invalid in JSON, and bytes that are not UTF-8 are refused rather than replaced.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Parses a request's body, which must be a JSON object.
 * @throws MalformedRequestError, with a cause where the body is not JSON at all
 */
export function parseBody(bytes: Buffer): Record<string, unknown> {
  const body = parseJson(bytes)
  if (typeof body !== 'object' || body === null || Array.isArray(body)) refuse('The body must be a JSON object.')
  refuseDangerous(body, 1)
  return body as Record<string, unknown>
}

/**
 * Parses a form into an object of strings; the last value of a repeated name counts.
 * @throws MalformedRequestError
 */
export function parseForm(bytes: Buffer): Record<string, unknown> {
  const body = Object.fromEntries(new URLSearchParams(bytes.toString('utf8')))
  refuseDangerous(body, 1)
  return body
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(utf8.decode(bytes))
  } catch (cause) {
    refuse(`The body is not JSON in UTF-8: ${errorMessage(cause)}.`, cause)
  }
}

function refuseDangerous(value: unknown, depth: number): void {
  if (typeof value !== 'object' || value === null) return
  if (depth > MAX_DEPTH) refuse(`The body is nested more than ${MAX_DEPTH} levels deep.`)
  for (const [key, below] of Object.entries(value)) {
    if (key === '__proto__' || (key === 'constructor' && hasPrototypeKey(below))) {
      refuse(`The body contains the key "${key}", which is not allowed.`)
    }
    refuseDangerous(below, depth + 1)
  }
}

function hasPrototypeKey(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype')
}

function refuse(problem: string, cause?: unknown): never {
  throw new MalformedRequestError({ problem }, { cause })
}
