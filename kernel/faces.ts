import type { z } from 'zod'

export interface HttpFace {
  method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  /** With `{name}` for path parameters. Input fields that are not in the path come from the query (GET, DELETE) or the body. */
  path: string
  /** Status of success; 200 unless told. */
  status?: 200 | 201 | 202 | 204
  /** The status of success, where it depends on the output. */
  statusOf?: (output: never) => number
  /** What `statusOf` may give besides `status`, each with what it means. */
  statuses?: Readonly<Record<number, string>>
  /**
   * Takes an `Idempotency-Key`: the same key again is the same request again. With `true` the server keeps the answer, and the
   * operation commits `call.effects` with what it creates; `self`: the operation uses `call.idempotency_key`, as a stream must.
   */
  idempotent?: true | 'self'
  /** The URL of what was created, for `Location`. */
  location?: (output: never) => string
  /** Largest body that it takes, in bytes; 1 MiB by default. */
  body_bytes?: number
  /** Answers without a key, also when one is set. */
  open?: boolean
  /** The media type of an answer that is a string; JSON unless told. */
  produces?: string
  /** Further headers of success, of what was asked for. */
  headers?: (input: never) => Readonly<Record<string, string>>
  /** Answered only by a process in which the heartbeat runs, though other faces run it anywhere. */
  daemon?: boolean
}

export interface CliFace {
  /** Words and arguments: `nudge <agent> <message>`; `[x]` is optional, `<x...>` takes the rest of the line. Other inputs become `--options`. */
  usage: string
  /** What these words do, where they share an operation: its summary by default. */
  summary?: string
  /** Values that these words fix, for words that share an operation. */
  preset?: Record<string, unknown>
  /** Inputs that make no sense with these words, and are no options of theirs. */
  hidden?: readonly string[]
  /** Values of options that are not given, where they are others than over HTTP. */
  defaults?: Record<string, unknown>
  /** Options that name a JSON file which holds the value of a field: `{ response_schema: 'schema' }` is `--schema <file>`. */
  files?: Record<string, string>
  /** Options that may be repeated and name files, whose names and bytes in base64 are a field's list: `{ images: 'image' }` is `--image <file>`. */
  attachments?: Record<string, string>
  /** Short names of options: `{ limit: 'n' }`. */
  short?: Record<string, string>
  /** What help shows to type, where its words with a value in each place that must be filled are not enough: `pause --all`. */
  example?: string
}

/** What of an operation says where it is found. */
export interface Faced<I extends z.ZodObject = z.ZodObject> {
  /** `room.verb`, as in `agents.spawn`. */
  name: string
  input: I
  http?: HttpFace
  cli?: CliFace | CliFace[]
}

const METHODS: readonly string[] = ['GET', 'POST', 'PATCH', 'PUT', 'DELETE'] satisfies HttpFace['method'][]

/**
 * Refuses an operation whose route or command is none, or has what its input does not.
 * @throws TypeError that says what would be right
 */
export function checkFaces(definition: Faced): void {
  if (definition.http) checkRoute(definition, definition.http)
  for (const { usage } of facesOf(definition)) checkCommand(definition, usage)
}

function checkRoute(definition: Faced, { method, path }: HttpFace): void {
  if (!METHODS.includes(method) || !/^\/(?:[\w.~/-]|\{\w+\})*$/.test(path)) {
    throw new TypeError(
      `the operation "${definition.name}" has no route at "${method} ${path}"; write one such as GET /weather/{city}`,
    )
  }
  const fields = [...path.matchAll(/\{(\w+)\}/g)].map(match => match[1]!)
  refuseUnknown(definition, `path ${path}`, fields)
}

function checkCommand(definition: Faced, usage: string): void {
  if (typeof usage !== 'string')
    throw new TypeError(
      `the operation "${definition.name}" has a command without usage: cli is { usage: 'weather <city>' }`,
    )
  const { path, places } = readUsage(usage)
  if (path.length === 0 || path.some(word => !/^[\w][\w.-]*$/.test(word))) {
    throw new TypeError(
      `the operation "${definition.name}" has no command in "${usage}"; write one such as: weather <city>`,
    )
  }
  const fields = places.map(place => place.name.replaceAll('-', '_'))
  refuseUnknown(definition, `command "${usage}"`, fields)
}

function refuseUnknown({ name, input }: Faced, where: string, fields: readonly string[]): void {
  const unknown = fields.find(field => !Object.hasOwn(input.shape, field))
  if (unknown) throw new TypeError(`the ${where} of the operation "${name}" has "${unknown}", but its input does not`)
}

/**
 * Where an operation is found, each place by what sets it apart. `runs` and `runs <id>` are two commands; of two with
 * the same words, both with or without arguments, one would never run, or be run by those who meant the other.
 */
export function claimsOf(definition: Faced): string[] {
  const commands = facesOf(definition).map(({ usage }) => {
    const { path, places } = readUsage(usage)
    return `svc ${path.join(' ')}${places.length > 0 ? ' <>' : ''}`
  })
  const { http } = definition
  return http ? [`${http.method} ${shapeOf(http.path)}`, ...commands] : commands
}

/** The commands of an operation, as its author wrote them. */
export function facesOf({ cli = [] }: Pick<Faced, 'cli'>): readonly CliFace[] {
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
