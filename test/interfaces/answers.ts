import type { IncomingHttpHeaders } from 'node:http'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { at, type OpenApiDocument, type Response } from './rest/document.ts'
import type { GeneratedRequest } from './rest/requests.ts'

export interface RawAnswer {
  status: number
  headers: IncomingHttpHeaders
  text: string
}

/** Methods that the server knows; a path that lacks one of them lists those that it has. */
const KNOWN = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
const LEAKS = [/\n\s+at /, /\bat \S+ \(.*:\d+:\d+\)/, /node_modules|node:internal/, /SQLITE_/, /\bSELECT\b.+\bFROM\b/]

/** Checks answers against the OpenAPI document. */
export class Answers {
  readonly #document: OpenApiDocument
  readonly #ajv = new Ajv2020({ strict: false })
  readonly #validators = new Map<string, ValidateFunction>()
  readonly #folders: readonly string[]

  /** @param folders paths that no error may reveal */
  constructor(document: OpenApiDocument, folders: readonly string[]) {
    this.#document = document
    this.#folders = folders
    addFormats.default(this.#ajv)
    this.#ajv.addSchema(document, 'document')
  }

  /** Returns the faults of an answer: none when it is as the document says. */
  faultsOf({ place, method, headers: asked }: GeneratedRequest, { status, headers, text }: RawAnswer): string[] {
    const faults: string[] = []
    const verb = method === 'HEAD' ? 'get' : method.toLowerCase()
    const pointer = `/paths/${escapePointer(place)}/${verb}/responses/${status}`
    const response: Response | undefined = this.#document.paths[place]![verb]?.responses[status]
    const id = headers['x-request-id']
    if (!id) faults.push('has no X-Request-Id')
    if (response === undefined) {
      const another = this.#document.paths[place]![verb] === undefined
      // A fault of the request may be reported before one of its method.
      const refused =
        another && (status === 405 || [400, 403, ...(KNOWN.includes(method) ? [] : [404])].includes(status))
      if (!refused) faults.push(`has the undocumented status ${status}`)
      if (status === 405 && !headers.allow) faults.push('has no Allow')
    }
    if (status >= 500 && status !== 503) faults.push('is a failure of the server')
    if ((status === 503 || status === 429) && !headers['retry-after']) faults.push('has no Retry-After')
    if (status === 304 && !asked['if-none-match']) faults.push('was not asked for')
    if (method === 'HEAD' || status === 204 || status === 304) return text === '' ? faults : [...faults, 'has a body']

    const type = String(headers['content-type'])
    if (status >= 400 && type.includes('problem')) faults.push(...this.#problemFaults(text, status, String(id)))
    else if (status >= 400 && status !== 503) faults.push(`is an error of type ${type}`)
    if (response !== undefined) faults.push(...this.#bodyFaults(pointer, response, type, text))
    return faults
  }

  #problemFaults(text: string, status: number, id: string): string[] {
    const problem = JSON.parse(text)
    const right =
      problem.status === status && problem.request_id === id && problem.type === `urn:svc:problem:${problem.code}`
    const leaks = [...LEAKS.map(leak => leak.exec(text)?.[0]), ...this.#folders.filter(folder => text.includes(folder))]
    return [
      ...(right ? [] : ['does not fit its own status, id or code']),
      ...leaks.flatMap(leak => (leak === undefined ? [] : [`leaks ${leak}`])),
    ]
  }

  #bodyFaults(pointer: string, response: Response, type: string, text: string): string[] {
    const whole = response.$ref?.slice(1) ?? pointer
    const { content = {} } = at(this.#document, whole) as Response
    const media = Object.keys(content).find(each => type.split(';')[0] === each.split(';')[0])
    if (media === undefined) return [`has the undeclared type ${type}`]
    if (!media.includes('json')) return []
    const schema = `document#${whole}/content/${escapePointer(media)}/schema`
    const validate = this.#validators.get(schema) ?? this.#ajv.compile({ $ref: encodeURI(schema).replace('%23', '#') })
    this.#validators.set(schema, validate)
    return validate(JSON.parse(text)) ? [] : [`breaks its schema: ${this.#ajv.errorsText(validate.errors)}`]
  }
}

function escapePointer(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}
