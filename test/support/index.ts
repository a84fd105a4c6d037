/** What tests are written with, ours and those of plugins' authors: `import … from 'svc/testing'`. */

export * from './beat.ts'
export * from './cli.ts'
export * from './clock.ts'
export * from './house.ts'
export * from './leaks.ts'
export * from './model-server.ts'
export * from './replayed.ts'
export * from './scheduler.ts'
export * from './temp.ts'
export * from './until.ts'
export * from './wire-rules.ts'
