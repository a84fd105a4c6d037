/** What the build writes down as data, beside the program: its commands, and its schemas for editors. */

export { commandsOf } from './parsing/tree.ts'
export { configSchema, profileSchema } from './project/schemas.ts'
