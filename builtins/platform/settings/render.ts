import { getIn } from '#lib/tree'
import type { ConfigChanged, ConfigValue, ConfigViews } from './contract.ts'

/** Renders each key with its effective value, and the source unless it is the default. */
export function renderViews({ effective, live, sources, problem }: ConfigViews): string {
  const paths = Object.keys(sources)
  const width = Math.max(...paths.map(path => path.length))
  const lines = paths.map(path => {
    const keys = path.split('.')
    const value = formatValue(getIn(effective, keys))
    const liveValue = formatValue(getIn(live ?? effective, keys))
    const notes = [
      ...(sources[path] === 'default' ? [] : [sources[path]]),
      ...(liveValue === value ? [] : [`${liveValue} until the restart`]),
    ]
    return `${path.padEnd(width)}  ${value}${notes.length > 0 ? `  (${notes.join(', ')})` : ''}`
  })
  return [...lines, ...(problem ? ['', `Not valid: ${problem}`] : [])].join('\n')
}

export function renderValue({
  key,
  value,
  live = value,
  source,
  env,
  reload,
  description,
  problem,
  ...rest
}: ConfigValue): string {
  const from = source === 'env' ? `the environment (${env})` : source === 'file' ? 'the file' : 'the default'
  const lines: [string, string][] = [
    [key, formatValue(value)],
    ...(formatValue(live) === formatValue(value) ? [] : [['in force', formatValue(live)] as [string, string]]),
    ['source', from],
    ['default', formatValue(rest.default)],
    ...(env ? [['variable', env] as [string, string]] : []),
    ['changes', reload === 'applied' ? 'take effect at the next heartbeat' : 'need a restart'],
    ...(description ? [['about', description] as [string, string]] : []),
    ...(problem ? [['not valid', problem] as [string, string]] : []),
  ]
  const width = Math.max(...lines.map(([name]) => name.length))
  return lines.map(([name, line]) => `${name.padEnd(width)}  ${line}`).join('\n')
}

export function renderChange({ note, ...change }: ConfigChanged): string {
  return [renderValueChange(change), ...(note === null ? [] : [note])].join('\n')
}

function renderValueChange({ key, value, reload, overridden_by }: Omit<ConfigChanged, 'note'>): string {
  const statement = value === null ? `${key} is unset` : `${key} is ${formatValue(value)}`
  if (overridden_by) return `${statement} in the file, but the environment variable ${overridden_by} overrides it`
  if (reload === null) return `${statement} already`
  return `${statement}, ${reload === 'applied' ? 'effective at the next heartbeat' : 'effective after a restart'}`
}

function formatValue(value: unknown): string {
  if (value === undefined) return 'null'
  return typeof value === 'string' && value !== '' ? value : JSON.stringify(value)
}
