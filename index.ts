/** The package's front door: what `import … from 'svc'` gives. */

export * from '#kernel'
export * from './builtins/agents/contract.ts'
export * from './builtins/authoring/contract.ts'
export * from './builtins/daemon/contract.ts'
export * from './builtins/goals/contract.ts'
export * from './builtins/models/contract.ts'
export * from './builtins/plugins-admin/contract.ts'
export * from './builtins/profiles/contract.ts'
export * from './builtins/rest/contract.ts'
export * from './builtins/runtime/contract.ts'
export * from './builtins/store/contract.ts'
export { Svc, type SvcOptions } from './embed.ts'
