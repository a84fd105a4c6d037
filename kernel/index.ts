/** The kernel's public face: what a plugin, builtin or not, is written against. */

export { z } from 'zod'
export * from './activity.ts'
export * from './actor.ts'
export * from './config.ts'
export { type ConfigCheck, ConfigChecks, type ConfigFault, type ConfigValues } from './config-checks.ts'
export * from './contributions.ts'
export { crashPoint } from './crash.ts'
export * from './cycle.ts'
export * from './errors.ts'
export { type CliFace, facesOf, type HttpFace, type Place, readUsage, shapeOf } from './faces.ts'
export * from './handle.ts'
export * from './heartbeat.ts'
export * from './hooks.ts'
export * from './host.ts'
export * from './identity.ts'
export * from './kernel.ts'
export {
  type ConfigKeyInfo,
  type ConfigSource,
  type ConfigView,
  InvalidConfigError,
  type KeyMeta,
  type ReloadClass,
  UnknownConfigKeyError,
} from './keys.ts'
export { stemOf } from './loader.ts'
export { FileLockedError, type LockPorts, lockFile } from './lock.ts'
export * from './log.ts'
export * from './near.ts'
export * from './operations.ts'
export * from './plugin.ts'
export { PluginError } from './plugin-error.ts'
export * from './plugins-config.ts'
export * from './points.ts'
export * from './ports.ts'
export type { Presence } from './presence.ts'
export * from './project.ts'
export type { Rehearsal } from './rehearsal.ts'
export * from './rounds.ts'
export * from './scheduler.ts'
export * from './scope.ts'
export { maskJson, maskText, secretMasker, secretsIn, secretsOf } from './secrets.ts'
export * from './services.ts'
export * from './state.ts'
export * from './streams.ts'
export * from './supervisor.ts'
export { getIn, isTree, setIn, type Tree } from './tree.ts'
export * from './trust.ts'
export { BadFileError, isForbiddenKey, parseYaml, readYaml, replaceFile, type YamlFile } from './yaml.ts'
