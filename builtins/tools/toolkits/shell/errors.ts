import { defineError } from '#kernel'

export const CommandError = defineError({
  code: 'command_refused',
  status: 422,
  title: 'Command refused',
  sentence: (p: { problem: string }) => `Nothing was run: ${p.problem}.`,
})
