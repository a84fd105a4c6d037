/** What the build writes down as data, beside the program: its commands, and its schemas for editors. */
export { configSchema, profileSchema } from './schemas.ts'
export { commandsOf } from './tree.ts'
