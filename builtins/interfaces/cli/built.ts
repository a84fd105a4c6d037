/** Data that the build writes next to the program: its commands, and its schemas for editors. */

export { commandsOf } from './parsing/tree.ts'
export { configSchema, profileSchema } from './project/schemas.ts'
