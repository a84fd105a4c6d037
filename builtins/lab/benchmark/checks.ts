import { oneLine } from '#lib/sanitize'
import type { Folder, ScenarioCheck, TextMatch } from './contract.ts'

/** A completed tool call. */
export interface CompletedCall {
  tool: string
  arguments: unknown
}

/** Data that checks examine when a scenario is over. */
export interface Outcome extends Folder {
  parsed: unknown
  called: readonly CompletedCall[]
}

/** Returns whether each check passed, in their order. */
export async function examine(checks: readonly ScenarioCheck[], outcome: Outcome): Promise<boolean[]> {
  const held: boolean[] = []
  for (const check of checks) held.push(await passesCheck(check, outcome))
  return held
}

async function passesCheck(check: ScenarioCheck, outcome: Outcome): Promise<boolean> {
  const { answer, parsed, called, file } = outcome
  switch (check.of) {
    case 'answer':
      return answer.trim() !== '' && matchesText(answer, check.is)
    case 'file': {
      const text = await file(check.path)
      return check.is === null ? text === undefined : text !== undefined && matchesText(text, check.is)
    }
    case 'folder':
      return check.holds(outcome)
    case 'field':
      return same(fieldOf(parsed, check.path), check.equals)
    case 'tool': {
      const count = called.filter(
        call => call.tool === check.name && includesArguments(call.arguments, check.arguments),
      ).length
      return count >= check.min && count <= (check.max ?? Number.POSITIVE_INFINITY)
    }
  }
}

/** Returns whether the arguments of a call contain these strings, ignoring case. */
export function includesArguments(given: unknown, wanted: Readonly<Record<string, string>>): boolean {
  const args = (typeof given === 'object' && given !== null ? given : {}) as Record<string, unknown>
  return Object.entries(wanted).every(
    ([name, text]) => Object.hasOwn(args, name) && plain(String(args[name])).includes(plain(text)),
  )
}

function matchesText(
  text: string,
  { equals, contains = [], any, lacks = [], lines, max_words, exact }: TextMatch,
): boolean {
  const form = exact ? (text: string) => oneLine(text).trim() : plain
  const content = form(text)
  const has = (part: string) => content.includes(form(part))
  return (
    (equals === undefined || content === form(equals)) &&
    contains.every(has) &&
    (any === undefined || any.some(has)) &&
    !lacks.some(has) &&
    (lines === undefined || text.split('\n').filter(line => line.trim() !== '').length === lines) &&
    (max_words === undefined || content.split(' ').length <= max_words)
  )
}

function fieldOf(value: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>(
      (at, key) => (typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[key] : undefined),
      value,
    )
}

function same(found: unknown, wanted: unknown): boolean {
  if (found === undefined) return false
  if (typeof wanted === 'object' && wanted !== null) return JSON.stringify(found) === JSON.stringify(wanted)
  return plain(String(found)) === plain(String(wanted))
}

function plain(text: string): string {
  return oneLine(text).trim().toLowerCase()
}
