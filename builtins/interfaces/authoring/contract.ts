import { defineError, ROLES, z } from '#kernel'

/** What a plugin file would register if it were loaded. */
export const PluginCheck = z.object({
  plugin: z.string(),
  file: z.string(),
  description: z.string(),
  version: z.string(),
  needs: z.array(z.string()).describe('Plugins that must be live before this one'),
  config: z.array(
    z.object({
      key: z.string().describe('Path of the key in .svc/config.yaml'),
      default: z.unknown(),
      required: z.boolean().describe('Whether the plugin runs only once the key has a value'),
      env: z.string().nullable().describe('Environment variable that overrides the file; null if there is none'),
      secret: z.boolean(),
      reload: z.enum(['applied', 'restart_required']),
      schema: z.unknown().describe('JSON Schema of the value'),
    }),
  ),
  registers: z.array(
    z.object({
      kind: z
        .string()
        .describe(
          "Kind of registration: `listens`, `taps`, `events`, `services`, `watches`, or a point's name such as `guards`",
        ),
      name: z.string(),
      detail: z.record(z.string(), z.unknown()).describe('Further details: schemas of tools, routes and commands'),
    }),
  ),
  resources: z
    .array(z.array(z.enum(ROLES)))
    .describe('Roles of the processes in which each resource of the plugin starts, one list per resource'),
})
export type PluginCheck = z.infer<typeof PluginCheck>

export const PluginFileMissingError = defineError({
  code: 'plugin_file_missing',
  status: 404,
  title: 'Plugin file missing',
  message: (p: { file: string }) =>
    `${p.file} is neither a file nor a folder with an index.ts; name one, as in: svc plugins check plugins/hello.ts`,
})
