import type { ReadResourceResult, Resource, ResourceTemplate } from '@modelcontextprotocol/sdk/types.js'
import { type OperationCall, SvcError } from '#kernel'
import type { McpOffer, McpResource } from './contract.ts'
import { NOT_FOUND, RpcError } from './transport/rpc.ts'

const MIME = 'application/json'
const PARAMETER = /\{(\w+)\}/g
/** Maximum number of instances of a kind in the list; the others can still be read and completed. */
const MOST_LISTED = 500
/** The protocol's limit on completions. */
const MOST_VALUES = 100

/** Names of parameters and arguments that can be completed, with the operation that lists their values. */
const REFERENCES = {
  agent: { operation: 'agents.list', input: {}, field: 'agent_id' },
  run: { operation: 'runs.list', input: { limit: 50 }, field: 'run_id' },
  profile: { operation: 'profiles.list', input: {}, field: 'name' },
} as const

export type Params = Readonly<Record<string, string>>

/** Replaces each `{name}` in a string by its value. */
export function fillParameters(
  text: string,
  params: Params,
  encode: (value: string) => string = value => value,
): string {
  return text.replace(PARAMETER, (whole, name: string) => (params[name] === undefined ? whole : encode(params[name])))
}

/** Returns the names in braces in the URI of a resource. */
export function parametersOf(text: string): string[] {
  return [...text.matchAll(PARAMETER)].map(([, name]) => name!)
}

/** Returns the resource that a URI names, and the values of its parameters. */
export function matchUri(offer: McpOffer, uri: string): { resource: McpResource; params: Params } | undefined {
  for (const resource of offer.resources()) {
    const names = parametersOf(resource.uri)
    const parts = resource.uri.split(PARAMETER).map((part, at) => (at % 2 === 0 ? escapePattern(part) : '([^/?#]+)'))
    const found = new RegExp(`^${parts.join('')}$`).exec(uri)
    const values = found?.slice(1).map(decodeOrUndefined)
    if (!values || values.includes(undefined)) continue
    return { resource, params: Object.fromEntries(names.map((name, at) => [name, values[at]!])) }
  }
  return undefined
}

/** Returns resources without parameters, and the existing instances of those that are `listed`. */
export async function listResources(offer: McpOffer, call: OperationCall): Promise<Resource[]> {
  const lists = offer.resources().map(async resource => {
    const [parameter, ...more] = parametersOf(resource.uri)
    const { uri, title, description } = resource
    if (parameter === undefined) return [{ uri, name: title, title, description, mimeType: MIME }]
    if (!resource.listed || more.length > 0) return []
    const values = await valuesOf(offer, parameter, call)
    return values.slice(0, MOST_LISTED).map(value => ({
      uri: fillParameters(uri, { [parameter]: value }, encodeURIComponent),
      name: value,
      title: `${title}: ${value}`,
      description,
      mimeType: MIME,
    }))
  })
  return (await Promise.all(lists)).flat()
}

/** Returns the resources whose URIs have parameters, in the form of MCP. */
export function templatesOf(offer: McpOffer): ResourceTemplate[] {
  return offer.resources().flatMap(({ uri, title, description }) => {
    if (parametersOf(uri).length === 0) return []
    return [{ uriTemplate: uri, name: title, title, description, mimeType: MIME }]
  })
}

/**
 * Reads a resource.
 * @throws RpcError for a URI that names nothing
 */
export async function readResource(offer: McpOffer, uri: string, call: OperationCall): Promise<ReadResourceResult> {
  const found = matchUri(offer, uri)
  if (!found) throw new RpcError(NOT_FOUND, `There is no resource ${uri}; resources/list lists the resources.`, { uri })
  const { resource, params } = found
  const input = Object.entries(resource.input ?? {}).map(([field, value]) => [
    field,
    typeof value === 'string' ? fillParameters(value, params) : value,
  ])
  try {
    const output = await offer.invoke(resource.operation, Object.fromEntries(input), call)
    return { contents: [{ uri, mimeType: MIME, text: JSON.stringify(output ?? null, null, 2) }] }
  } catch (error) {
    if (error instanceof SvcError && error.status === 404) throw new RpcError(NOT_FOUND, error.message, { uri })
    throw error
  }
}

/** Returns the values of a parameter or an argument that start with `begun`. */
export async function completeValue(offer: McpOffer, name: string, begun: string, call: OperationCall) {
  const fitting = (await valuesOf(offer, name, call)).filter(value => value.startsWith(begun))
  const values = fitting.slice(0, MOST_VALUES)
  return { completion: { values, total: fitting.length, hasMore: fitting.length > values.length } }
}

async function valuesOf(offer: McpOffer, parameter: string, call: OperationCall): Promise<string[]> {
  if (!Object.hasOwn(REFERENCES, parameter)) return []
  const { operation, input, field } = REFERENCES[parameter as keyof typeof REFERENCES]
  const rows = (await offer.invoke(operation, input, call)) as readonly Record<string, unknown>[]
  return rows.map(row => String(row[field]))
}

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

function decodeOrUndefined(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
