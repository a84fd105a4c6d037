import { columns } from '#lib/columns'
import type { PluginCheck } from './contract.ts'

type Line = [kind: string, name: string, more: string]

/** Formats a check for people, one line for each item. */
export function renderCheck(check: PluginCheck): string {
  const { plugin, version, file, description } = check
  const lines = linesOf(check)
  const table = columns(lines).map(line => `  ${line}`)
  return [
    `${plugin}${version && ` ${version}`} (${file})`,
    ...(description ? [description] : []),
    '',
    ...(table.length > 0 ? ['The plugin would register:', ...table] : ['The plugin would register nothing.']),
    '',
    'A reload would accept the plugin. Types are not checked here: run npx tsc --noEmit.',
  ].join('\n')
}

function linesOf({ needs, config, registers, resources }: PluginCheck): Line[] {
  return [
    ...needs.map((name): Line => ['needs', name, '']),
    ...config.map((key): Line => ['config', key.key, shownKey(key)]),
    ...registers.map(({ kind, name, detail }): Line => [kind.replaceAll('_', ' '), name, shownDetail(detail)]),
    ...resources.map((roles): Line => ['starts', 'a resource', `in: ${roles.join(', ')}`]),
  ]
}

function shownKey({ default: value, required, env, secret }: PluginCheck['config'][number]): string {
  return [
    required ? 'required' : `default ${JSON.stringify(value)}`,
    ...(env ? [`or ${env}`] : []),
    ...(secret ? ['secret'] : []),
  ].join(', ')
}

function shownDetail(detail: PluginCheck['registers'][number]['detail']): string {
  const { fails, tools, http, cli, mcp } = detail as {
    fails?: string
    tools?: { name: string; parameters: { properties?: object } }[]
    http?: string | null
    cli?: string[]
    mcp?: boolean
  }
  if (fails) return `fails ${fails}`
  if (tools)
    return tools.map(tool => `${tool.name}(${Object.keys(tool.parameters.properties ?? {}).join(', ')})`).join(' ')
  return [...(http ? [http] : []), ...(cli ?? []), ...(mcp ? ['MCP'] : [])].join(' · ')
}
