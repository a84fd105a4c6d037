import { type Operation, type Point, z } from '#kernel'
import type { Guards } from '#platform/heartbeat/contract'
import type { DryRun } from '#platform/plugin-files/contract'
import type { Toolkit } from '#tools/toolkits/contract'
import type { PluginCheck } from './contract.ts'

type Registration = PluginCheck['registers'][number]
type Detail = Registration['detail']

/** Names of registrations that are not contributions to an extension point. */
const KINDS: Readonly<Record<string, string>> = {
  on: 'listens',
  'tap of': 'taps',
  event: 'events',
  provides: 'services',
  watches: 'watches',
}

/** Functions that add details of certain contributions; for others the name is enough. */
const DETAILS: Readonly<Record<string, (contribution: never) => Detail>> = {
  guards: ({ failClosed }: typeof Guards extends Point<infer G> ? G : never) => ({
    fails: failClosed() ? 'closed' : 'open',
  }),
  toolkits: ({ instructions, tools }: Toolkit) => ({
    instructions: instructions ?? '',
    tools: tools.map(({ name, description, parameters, requires_approval = false, idempotent = false }) => {
      return { name, description, parameters: schemaOf(parameters), requires_approval, idempotent }
    }),
  }),
  operations: ({ summary, input, output, http, cli, mcp = false, reach = 'store' }: Operation) => ({
    summary,
    mcp,
    reach,
    input: schemaOf(input),
    output: schemaOf(output),
    http: http ? `${http.method} ${http.path}` : null,
    cli: [cli ?? []].flat().map(({ usage }) => `svc ${usage}`),
  }),
}

/**
 * Converts the result of a dry run to data and schemas.
 * @param file path of the plugin for display
 */
export function describeDryRun(dryRun: DryRun, file: string): PluginCheck {
  const { definition, registered, contributions, config, resources } = dryRun
  const { name, description = '', version = '', needs = [] } = definition
  const isRequired = (path: string) => {
    const schema = definition.config?.shape[path.replace(`plugins.config.${name}.`, '')] as z.ZodType | undefined
    return schema?.safeParse(undefined).success === false
  }
  return {
    plugin: name,
    file,
    description,
    version,
    needs: [...needs],
    config: config.map(({ path, env = null, secret = false, reload = 'restart_required', ...key }) => {
      return {
        key: path,
        default: key.default ?? null,
        required: isRequired(path),
        env,
        secret,
        reload,
        schema: key.schema,
      }
    }),
    registers: registered.flatMap(label => describeLabel(label, contributions)),
    resources: resources.map(roles => [...roles]),
  }
}

function describeLabel(label: string, contributions: DryRun['contributions']): Registration[] {
  const contribution = contributions.get(label)
  if (contribution !== undefined) {
    const [kind, name] = cut(label, ': ')
    return [{ kind, name, detail: DETAILS[kind]?.(contribution as never) ?? {} }]
  }
  const word = Object.keys(KINDS).find(word => label.startsWith(`${word} `))
  // Configuration is shown separately.
  return word === undefined ? [] : [{ kind: KINDS[word]!, name: label.slice(word.length + 1), detail: {} }]
}

function cut(text: string, at: string): [string, string] {
  const place = text.indexOf(at)
  return [text.slice(0, place), text.slice(place + at.length)]
}

function schemaOf(schema: z.ZodType): unknown {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
}
