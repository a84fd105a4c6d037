import type { z } from 'zod'
import { ConflictError } from './errors.ts'
import type { CliFace, HttpFace, Operation } from './operations.ts'
import type { Contribution } from './points.ts'

type Others = readonly Contribution<Operation>[]

/**
 * Refuses an operation whose route or command is none, or another's.
 * @throws TypeError that says what would be right; ConflictError that names who has it
 */
export function checkFaces(definition: Operation, others: Others): void {
  const { name, http, input } = definition
  if (http) checkRoute(name, http, input, others)
  for (const { usage } of facesOf(definition)) checkCommand(name, usage, input, others)
}

const METHODS: readonly string[] = ['GET', 'POST', 'PATCH', 'PUT', 'DELETE'] satisfies HttpFace['method'][]

/** Two operations at one place would be one for those who ask: a command that deletes what it was to show. */
function checkRoute(name: string, { method, path }: HttpFace, input: z.ZodObject, others: Others): void {
  if (!METHODS.includes(method) || !/^\/(?:[\w.~/-]|\{\w+\})*$/.test(path)) {
    throw new TypeError(
      `the operation "${name}" has no route at "${method} ${path}"; write one such as GET /weather/{city}`,
    )
  }
  const fields = [...path.matchAll(/\{(\w+)\}/g)].map(match => match[1]!)
  refuseUnknown(name, `path ${path}`, fields, input)
  const shape = shapeOf(path)
  const there = ({ http }: Operation) =>
    http?.method === method && http.path[1] === path[1] && shapeOf(http.path) === shape
  refuseTaken(
    name,
    `${method} ${path}`,
    others.find(({ value }) => there(value)),
  )
}

/** `runs` and `runs <id>` are two commands; of two with the same words, both with or without arguments, one would never run. */
function checkCommand(name: string, usage: string, input: z.ZodObject, others: Others): void {
  const { path, places } = readUsage(usage)
  if (path.length === 0 || path.some(word => !/^[\w][\w.-]*$/.test(word))) {
    throw new TypeError(`the operation "${name}" has no command in "${usage}"; write one such as: weather <city>`)
  }
  const fields = places.map(place => place.name.replaceAll('-', '_'))
  refuseUnknown(name, `command "${usage}"`, fields, input)
  const [first] = path
  const same = (other: CliFace) => {
    if (!other.usage.startsWith(first!)) return false
    const read = readUsage(other.usage)
    return read.path.join(' ') === path.join(' ') && read.places.length > 0 === places.length > 0
  }
  refuseTaken(
    name,
    `svc ${usage}`,
    others.find(({ value }) => facesOf(value).some(same)),
  )
}

function refuseUnknown(name: string, where: string, fields: readonly string[], input: z.ZodObject): void {
  const unknown = fields.find(field => !Object.hasOwn(input.shape, field))
  if (unknown) throw new TypeError(`the ${where} of the operation "${name}" has "${unknown}", but its input does not`)
}

function refuseTaken(name: string, what: string, taken: Contribution<Operation> | undefined): void {
  if (!taken || taken.key === name) return
  throw new ConflictError({
    sentence: `The operation "${name}" asks for ${what}, but "${taken.key}" of "${taken.owner}" already has it; give one of them another.`,
  })
}

/** The commands of an operation, as its author wrote them. */
export function facesOf({ cli = [] }: Pick<Operation, 'cli'>): readonly CliFace[] {
  return [cli].flat()
}

/** A path without the names of its parameters: two of one shape are the same place. */
export function shapeOf(path: string): string {
  return path.replace(/\{\w+\}/g, '{}')
}

/** A value of a command by its place: `<name>`, `[name]`, `<name...>`. */
export interface Place {
  name: string
  required: boolean
  rest: boolean
}

/** The words of a command, and what stands between and after them. */
export function readUsage(usage: string): { path: string[]; places: Place[] } {
  const path: string[] = []
  const places: Place[] = []
  for (const word of usage.trim().split(/\s+/)) {
    const place = /^([<[])([\w-]+)(\.\.\.)?[>\]]$/.exec(word)
    if (place) places.push({ name: place[2]!, required: place[1] === '<', rest: place[3] !== undefined })
    else path.push(word)
  }
  return { path, places }
}
