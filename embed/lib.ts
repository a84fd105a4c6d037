/** Exports for `import … from 'svc/lib'`: helpers that modules share. */

export * from '#lib/columns'
export * from '#lib/crash-point'
export * from '#lib/errors'
export * from '#lib/identity'
export * from '#lib/keyed-mutex'
export * from '#lib/keyed-random'
export * from '#lib/list'
export { FileLockedError, type LockPorts, lockFile } from '#lib/lock'
export * from '#lib/log'
export * from '#lib/opener'
export * from '#lib/package-version'
export * from '#lib/plugin-file'
export * from '#lib/pluralize'
export * from '#lib/poller'
export * from '#lib/project'
export * from '#lib/recording-context'
export { readRegular } from '#lib/regular'
export { maskJson, maskText, secretMasker, secretsIn, secretsOf } from '#lib/secrets'
export * from '#lib/sleep'
export * from '#lib/stream'
export * from '#lib/system-ports'
export * from '#lib/traceparent'
export { getIn, isTree, setIn, type Tree } from '#lib/tree'
export * from '#lib/trust'
export {
  BadFileError,
  isForbiddenKey,
  parseYaml,
  readYaml,
  replaceFile,
  type YamlFile,
} from '#lib/yaml'
