import { Validator } from '@seriousme/openapi-schema-validator'
import { beforeAll, describe, expect, it } from 'vitest'
import { stream } from '#lib/stream'
import { BUILTINS } from '../../../builtins/index.ts'
import { definePlugin, errorCatalogue, type Operation, Operations, operation, z } from '../../../kernel/index.ts'
import { testHost } from '../../support/index.ts'
import { startServer } from '../start-server.ts'
import { at, type Entry, entriesOf, type OpenApiDocument, parametersOf } from './document.ts'
import { startRestServer } from './rest-server.ts'

describe('the OpenAPI document of all modules', () => {
  let document: OpenApiDocument
  let operations: readonly Operation[] = []
  let entries: Entry[] = []
  const operationNamed = (operationId: string) => operations.find(({ name }) => name === operationId)!

  beforeAll(async () => {
    const home = await testHost({ builtins: BUILTINS, roles: [] })
    operations = home.kernel.list(Operations).filter(({ http }) => http)
    document = JSON.parse(JSON.stringify(await home.kernel.invoke('openapi.get')))
    entries = entriesOf(document)
    await home.close()
  })

  it('is valid OpenAPI 3.1 according to an independent validator', async () => {
    expect(document.openapi).toBe('3.1.0')
    expect(await new Validator().validate({ ...document })).toEqual({ valid: true })
    expect(document.info.license).toEqual({ name: 'MIT', identifier: 'MIT' })
  })

  it('has no broken reference and no unused component', () => {
    const pointers = new Set(
      [...JSON.stringify(document).matchAll(/"\$ref":"#([^"]+)"/g)].map(([, pointer]) => pointer!),
    )
    for (const pointer of pointers) expect(at(document, pointer), pointer).toBeDefined()
    const { securitySchemes: _, ...components } = document.components
    const defined = Object.entries(components).flatMap(([kind, named]) =>
      Object.keys(named).map(name => `/components/${kind}/${name}`),
    )
    expect(defined.filter(pointer => !pointers.has(pointer))).toEqual([])
  })

  it('describes every operation with a route once, with a summary and under a module that is described', () => {
    expect(entries.map(({ operationId }) => operationId).sort()).toEqual(operations.map(({ name }) => name).sort())
    for (const { operationId, summary, tags } of entries) {
      expect(summary.length, operationId).toBeGreaterThan(5)
      expect(document.tags.find(({ name }) => name === tags[0])?.description, operationId).toMatch(/\w+ \w+/)
    }
  })

  it('gives an example of every request and response body that its own schema accepts', () => {
    for (const { operationId, requestBody, responses } of entries) {
      const { input, output, http } = operationNamed(operationId)
      const body = requestBody?.content['application/json']
      if (body) {
        const inPath = Object.fromEntries(
          [...http!.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name, 'coder-1a2b3c4d']),
        )
        expect(body.example, operationId).toBeDefined()
        expect(input.safeParse({ ...inPath, ...body.example }).error, operationId).toBeUndefined()
      }
      for (const [status, { content }] of Object.entries(responses)) {
        const answer = content?.['application/json']
        if (!answer || operationId === 'openapi.get') continue
        expect(answer.example, `${operationId} ${status}`).toBeDefined()
        expect(output.safeParse(answer.example).error, `${operationId} ${status}`).toBeUndefined()
      }
    }
  })

  it('gives an example of every operation, and of every path parameter', () => {
    const without = entries.flatMap(({ operationId, parameters, requestBody, responses }) => {
      const inPath = parametersOf(document, parameters).filter(each => each.in === 'path')
      const contents = [requestBody, ...Object.values(responses)].flatMap(each => Object.values(each?.content ?? {}))
      const names = inPath.filter(({ example }) => [undefined, 'text', ''].includes(example)).map(({ name }) => name)
      const has = inPath.length > 0 || contents.some(({ example }) => example !== undefined)
      return has || operationId === 'openapi.get' ? names.map(name => `${operationId} ${name}`) : [operationId]
    })
    expect(without).toEqual([])
  })

  it('declares the possible responses of every operation, and each error under its code', () => {
    const catalogue = new Map(errorCatalogue().map(({ code, status }) => [code, status]))
    for (const { operationId, method, security, responses } of entries) {
      const documented = Object.keys(responses)
      const keyed = security?.length === 0 ? [] : ['401', '429']
      const read = method === 'get' ? [] : ['413', '415']
      expect(documented, operationId).toEqual(
        expect.arrayContaining(['400', '403', '404', '422', '503', 'default', ...keyed, ...read]),
      )
      for (const { code = '', status } of codesOf(document, responses)) {
        if (code !== 'invalid_input') expect(catalogue.get(code), `${operationId} ${code}`).toBe(status)
      }
      const { errors = [] } = operationNamed(operationId)
      for (const { code, status } of errors) {
        expect(codesOf(document, responses), operationId).toContainEqual({ code, status })
      }
    }
  })

  it('says that unknown fields are refused', () => {
    for (const { operationId, requestBody } of entries) {
      const schema = requestBody?.content['application/json']?.schema
      if (schema) expect(schema, operationId).toHaveProperty('additionalProperties')
    }
    const spawn = entries.find(({ operationId }) => operationId === 'agents.spawn')
    expect(spawn?.requestBody?.content['application/json']?.schema.additionalProperties).toBe(false)
  })

  it('declares a field as a number or a boolean only if nothing else is accepted in its place', () => {
    for (const { operationId, parameters, requestBody } of entries) {
      const fields = Object.entries<{ type?: string }>({
        ...Object.fromEntries(parameters.map(({ name, schema }) => [name, schema])),
        ...requestBody?.content['application/json']?.schema.properties,
      })
      for (const [field, { type = '' }] of fields) {
        if (!['number', 'integer', 'boolean'].includes(type)) continue
        const taken = [null, '', '5', 'true', [], [5]].filter(
          value => operationNamed(operationId).input.shape[field]!.safeParse(value).success,
        )
        expect(taken, `${operationId} ${field}`).toEqual([])
      }
    }
  })

  it('names the headers for pages, created resources, caching and retries', () => {
    const headers = (operationId: string, status: string) => {
      const { responses } = entries.find(each => each.operationId === operationId)!
      return Object.keys(responses[status]?.headers ?? at(document, responses[status]!.$ref!.slice(1)).headers).sort()
    }
    expect(headers('agents.list', '200')).toEqual(['ETag', 'Link', 'X-Hidden-Count', 'X-Request-Id', 'X-Total-Count'])
    expect(headers('agents.spawn', '201')).toEqual(['Idempotency-Replayed', 'Location', 'X-Request-Id'])
    expect(headers('agents.list', '429')).toEqual(['Retry-After', 'X-Request-Id'])
    expect(headers('agents.list', '503')).toEqual(['Retry-After', 'X-Request-Id'])
    expect(headers('agents.get', '304')).toEqual(['ETag'])
  })

  it('lists the properties of each record whose keys are all known, for generators of clients', () => {
    const text = JSON.stringify(document)
    expect(text).not.toMatch(
      /"propertyNames":\{"type":"string","enum":\[[^\]]*\]\},"additionalProperties":\{[^}]*\},"required"/,
    )
    const counts = '"waiting_approval":{"type":"integer"},"paused":{"type":"integer"}'
    expect(text).toContain(counts)
  })

  it('contains no redundant constraints, and stays below 1 MB', () => {
    const walk = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return
      const { format, pattern, maximum, minimum } = value as Record<string, unknown>
      expect(format !== undefined && pattern !== undefined).toBe(false)
      expect([maximum, minimum]).not.toContain(Number.MAX_SAFE_INTEGER)
      expect(minimum).not.toBe(Number.MIN_SAFE_INTEGER)
      for (const below of Object.values(value)) walk(below)
    }
    walk(document.components.schemas)
    walk(document.paths)
    expect(JSON.stringify(document).length).toBeLessThan(1_000_000)
  })
})

describe('the OpenAPI document', () => {
  const Cup = z.object({ cup_id: z.string(), size: z.int() }).meta({ id: 'Cup' })
  const http = { method: 'GET' as const, path: '/cups/{cup_id}' }
  const input = z.object({ cup_id: z.string() })

  it('requires the key for all but the open routes, once one is set', async () => {
    const open = await startRestServer()
    const keyed = await startRestServer({ env: { SVC_API_KEY: 'open sesame' } })
    const { json } = await keyed.ask('/openapi.json')
    expect((await open.ask('/openapi.json')).json.security).toEqual([{}, { key: [] }])
    expect(json.security).toEqual([{ key: [] }])
    expect(json.paths['/healthz'].get.security).toEqual([])
    expect(Object.keys(json.paths['/healthz'].get.responses['503'].content)).toEqual([
      'application/json',
      'application/problem+json',
    ])
  })

  it('defines a schema with an id once, and refers to it', async () => {
    const plugin = definePlugin({
      name: 'cups',
      description: 'Cups of all sizes.',
      setup(svc) {
        svc.operation(
          operation({
            name: 'cups.get',
            summary: 'One cup',
            input,
            output: Cup,
            http,
            run: () => ({ cup_id: '1', size: 1 }),
          }),
        )
        svc.operation(
          operation({
            name: 'cups.list',
            summary: 'All cups',
            input: z.object({}),
            output: z.array(Cup),
            http: { method: 'GET', path: '/cups' },
            run: () => [],
          }),
        )
      },
    })
    const { ask } = await startRestServer({ plugins: [plugin] })
    const { json } = await ask('/openapi.json')
    const schema = (path: string) => json.paths[path].get.responses[200].content['application/json'].schema
    expect(schema('/cups/{cup_id}')).toEqual({ $ref: '#/components/schemas/Cup' })
    expect(schema('/cups').items).toEqual({ $ref: '#/components/schemas/Cup' })
    expect(json.components.schemas.Cup.properties.size).toEqual({ type: 'integer' })
    expect(json.tags).toContainEqual({ name: 'cups', description: 'Cups of all sizes.' })
  })

  it('describes a stream by its events, including the error that may end it', async () => {
    const plugin = definePlugin({
      name: 'cups',
      setup(svc) {
        const events = { poured: Cup, done: z.object({ cups: z.int() }) }
        svc.operation(stream({ name: 'cups.pour', summary: 'Pour', input, events, http, async *run() {} }))
      },
    })
    const { ask } = await startRestServer({ plugins: [plugin] })
    const { json } = await ask('/openapi.json')
    const { parameters, responses } = json.paths['/cups/{cup_id}'].get
    const { oneOf } = responses[200].content['text/event-stream'].schema
    expect(oneOf.map((each: { properties: { event: unknown } }) => each.properties.event)).toEqual([
      { const: 'error' },
      { const: 'poured' },
      { const: 'done' },
    ])
    expect(oneOf[1].properties.data).toEqual({ $ref: '#/components/schemas/Cup' })
    expect(parametersOf(json, parameters).map(({ name }) => name)).toContain('Last-Event-ID')
    expect((await new Validator().validate(json)).valid).toBe(true)
  })

  it('follows operations as they are added and removed', async () => {
    const { ask, kernel } = await startRestServer()
    const undo = kernel.points.add(
      Operations,
      operation({
        name: 'cups.get',
        summary: 'One cup',
        input,
        output: Cup,
        http,
        run: () => ({ cup_id: '1', size: 1 }),
      }),
      'test',
    )
    expect((await ask('/openapi.json')).json.paths).toHaveProperty(['/cups/{cup_id}'])
    await undo()
    expect((await ask('/openapi.json')).json.paths).not.toHaveProperty(['/cups/{cup_id}'])
  })

  it('has examples of bodies that a server accepts, even if what they name does not exist', async () => {
    const { ask, kernel } = await startServer()
    const { agent_id } = (await kernel.invoke('agents.spawn', { preset: 'coder' })) as { agent_id: string }
    await kernel.invoke('agents.spawn', { preset: 'writer' })
    const document: OpenApiDocument = (await ask('/openapi.json')).json
    const refused: string[] = []
    for (const { method, path, requestBody } of entriesOf(document)) {
      const example = requestBody?.content['application/json']?.example
      // A bundle is a whole agent, with a checksum over it.
      if (example === undefined || path === '/bundles') continue
      const body = JSON.stringify(example).replaceAll('coder-1a2b3c4d', agent_id)
      const at = path.replace('{name}', 'review').replaceAll(/\{\w+\}/g, path.startsWith('/agents/') ? agent_id : 'x')
      const { status, text } = await ask(at, { method, body, headers: { 'content-type': 'application/json' } })
      if (status === 400 || status === 422) refused.push(`${method} ${path} ${body}: ${text}`)
    }
    expect(refused).toEqual([])
  })

  it('matches what a server with all modules serves', async () => {
    const { ask } = await startServer()
    const { json } = await ask('/openapi.json')
    for (const path of ['/agents', '/status', '/metrics', '/models', '/profiles', '/plugins', '/daemon']) {
      const { status, headers } = await ask(path)
      expect(status, path).toBe(200)
      const type = Object.keys(json.paths[path].get.responses['200'].content)[0]!
      expect(headers['content-type'], path).toContain(type.split(';')[0])
    }
  })
})

/** Returns the error codes of an operation's responses, each with its status. */
function codesOf(document: OpenApiDocument, responses: Entry['responses']) {
  return Object.entries(responses).flatMap(([status, response]) => {
    const whole = response.$ref ? at(document, response.$ref.slice(1)) : response
    const narrowed = whole.content?.['application/problem+json']?.schema.allOf?.[1]
    return (narrowed?.properties.code.enum ?? []).map((code: string) => ({ code, status: Number(status) }))
  })
}
