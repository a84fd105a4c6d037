/** Test helpers, for our tests and those of plugin authors: `import … from 'svc/testing'`. */

export * from './cli.ts'
export * from './clock.ts'
export * from './deprecated.ts'
export * from './heartbeat.ts'
export * from './leaks.ts'
export * from './model-server.ts'
export * from './replay-recording.ts'
export * from './scheduler.ts'
export * from './temp.ts'
export * from './test-host.ts'
export * from './until.ts'
export * from './wire-rules.ts'
