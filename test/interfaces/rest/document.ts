// biome-ignore-all lint/suspicious/noExplicitAny: a document's schemas may hold anything.

export interface Response {
  $ref?: string
  content?: Record<string, { schema: any; example?: any }>
  headers?: Record<string, unknown>
}

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  schema: any
  example?: any
}

/** Operation of the document, with its path and method. */
export interface Entry {
  path: string
  method: string
  operationId: string
  summary: string
  tags: string[]
  security?: unknown[]
  parameters: Parameter[]
  requestBody?: { required: boolean; content: Record<string, { schema: any; example?: any }> }
  responses: Record<string, Response>
}

export interface OpenApiDocument {
  openapi: string
  info: { license: unknown }
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, Omit<Entry, 'path' | 'method'>>>
  components: Record<string, Record<string, any>>
}

/** Returns what a pointer such as `/components/schemas/Problem` refers to. */
export function at(document: OpenApiDocument, pointer: string): any {
  return pointer
    .split('/')
    .slice(1)
    .reduce((value: any, key) => value?.[key.replaceAll('~1', '/').replaceAll('~0', '~')], document)
}

export function parametersOf(document: OpenApiDocument, parameters: readonly any[]): Parameter[] {
  return parameters.map(each => (each.$ref ? at(document, each.$ref.slice(1)) : each))
}

/** Returns all operations of the document, with their parameters resolved. */
export function entriesOf(document: OpenApiDocument): Entry[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, entry]) => ({
      ...entry,
      path,
      method,
      parameters: parametersOf(document, entry.parameters),
    })),
  )
}
