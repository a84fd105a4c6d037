import type { CliFace, HttpFace, Operation } from './operations.ts'

const METHODS: readonly string[] = ['GET', 'POST', 'PATCH', 'PUT', 'DELETE'] satisfies HttpFace['method'][]

/**
 * Refuses an operation whose route or command is none, or has what its input does not.
 * @throws TypeError that says what would be right
 */
export function checkFaces(definition: Operation): void {
  if (definition.http) checkRoute(definition, definition.http)
  for (const { usage } of facesOf(definition)) checkCommand(definition, usage)
}

function checkRoute(definition: Operation, { method, path }: HttpFace): void {
  if (!METHODS.includes(method) || !/^\/(?:[\w.~/-]|\{\w+\})*$/.test(path)) {
    throw new TypeError(
      `the operation "${definition.name}" has no route at "${method} ${path}"; write one such as GET /weather/{city}`,
    )
  }
  const fields = [...path.matchAll(/\{(\w+)\}/g)].map(match => match[1]!)
  refuseUnknown(definition, `path ${path}`, fields)
}

function checkCommand(definition: Operation, usage: string): void {
  const { path, places } = readUsage(usage)
  if (path.length === 0 || path.some(word => !/^[\w][\w.-]*$/.test(word))) {
    throw new TypeError(
      `the operation "${definition.name}" has no command in "${usage}"; write one such as: weather <city>`,
    )
  }
  const fields = places.map(place => place.name.replaceAll('-', '_'))
  refuseUnknown(definition, `command "${usage}"`, fields)
}

function refuseUnknown({ name, input }: Operation, where: string, fields: readonly string[]): void {
  const unknown = fields.find(field => !Object.hasOwn(input.shape, field))
  if (unknown) throw new TypeError(`the ${where} of the operation "${name}" has "${unknown}", but its input does not`)
}

/**
 * Where an operation is found, each place by what sets it apart. `runs` and `runs <id>` are two commands; of two with
 * the same words, both with or without arguments, one would never run, or be run by those who meant the other.
 */
export function claimsOf(definition: Operation): string[] {
  const commands = facesOf(definition).map(({ usage }) => {
    const { path, places } = readUsage(usage)
    return `svc ${path.join(' ')}${places.length > 0 ? ' <>' : ''}`
  })
  const { http } = definition
  return http ? [`${http.method} ${shapeOf(http.path)}`, ...commands] : commands
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
