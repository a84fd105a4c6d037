import { z } from '#kernel'

const Variable = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'is no name of an environment variable')
const Seconds = z.number().positive().max(86_400)
/** Patterns of tool names as the server lists them; `*` matches anything. */
const Patterns = z.array(z.string().min(1).max(200))
/** Pattern of server names. Two `_` are not allowed, because they separate the server from the tool in tool names. */
const SERVER_NAME = /^(?=.{1,32}$)[a-z0-9]+([_-][a-z0-9]+)*$/
/** Variable names that suggest a secret, whose value does not belong in a configuration file. */
const SECRET_NAME =
  /(^|_)(KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|AUTH)(_|$)|(KEY|TOKEN|SECRET|PASSWORD)$/i

/** Servers that need no further settings. */
const PRESETS = ['playwright'] as const

export const McpServerSettings = z
  .strictObject(
    {
      preset: z
        .enum(PRESETS)
        .optional()
        .describe('In place of command and url: playwright is a browser without a window, driven through npx'),
      command: z.string().trim().min(1).max(1000).optional().describe('The program, for a server that is a process'),
      args: z
        .array(z.string().max(10_000))
        .max(100)
        .default([])
        .describe('Its arguments; no shell reads them. Of a preset, further ones'),
      cwd: z.string().min(1).optional().describe('Working folder, relative to the project (default: the project)'),
      env: z.record(Variable, z.string()).default({}).describe('Variables for it that are no secrets'),
      pass_env: z.array(Variable).default([]).describe('Variables of our own environment that it gets, such as keys'),
      url: z
        .url({ protocol: /^https?$/ })
        .optional()
        .describe('For a server over HTTP: this very address is connected to'),
      headers_env: z
        .record(z.string().regex(/^[A-Za-z0-9-]+$/, 'is no name of a header'), Variable)
        .default({})
        .describe('Headers with the variables that hold their values; one word for Authorization is a bearer token'),
      enabled: z.boolean().default(true),
      start_timeout: Seconds.default(60).describe('Seconds until it must have answered and listed its tools'),
      timeout: Seconds.default(60).describe('Seconds that one call may take; daemon.tool_timeout holds beside it'),
      profiles: z
        .array(z.string())
        .nullable()
        .default(null)
        .describe('Presets whose agents get its tools; null for all'),
      tools: z
        .strictObject({ allow: Patterns.nullable().default(null), deny: Patterns.default([]) })
        .prefault({})
        .describe('Which of its tools are offered, by patterns such as read_*; what is denied is not allowed'),
      require_approval: Patterns.default([]).describe('Tools that wait for the operator, where approvals are on'),
      trust_annotations: z
        .boolean()
        .default(false)
        .describe('Whether it is believed which of its tools may be run again when it is unknown whether they ran'),
      pin: z
        .boolean()
        .default(false)
        .describe(
          'Whether tools that are new or changed since the first listing are held back until they are accepted',
        ),
    },
    'must be a mapping, such as { command: npx, args: [-y, a-server] } or { url: https://… }',
  )
  .superRefine(({ command, url, preset, env, ...more }, context) => {
    const fault = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message })
    const ways = [command, url, preset].filter(way => way !== undefined)
    if (ways.length !== 1) fault('command', 'a server has either a command or a url, or a preset')
    if (preset !== undefined && more.cwd !== undefined) fault('cwd', 'a preset has a folder of its own')
    if (url !== undefined) {
      const other = more.args.length + more.pass_env.length + Object.keys(env).length > 0 || more.cwd !== undefined
      if (other) fault('url', 'args, cwd, env and pass_env are for a server with a command')
      const { username, password } = new URL(url)
      if (username || password) fault('url', 'holds no user or password; name a variable under headers_env')
    } else if (Object.keys(more.headers_env).length > 0) fault('headers_env', 'is for a server with a url')
    for (const name of Object.keys(env)) {
      if (SECRET_NAME.test(name))
        fault('env', `${name} is called like a secret: set it in the environment of svc, and name it under pass_env`)
    }
  })
export type McpServerSettings = z.output<typeof McpServerSettings>

export const McpClientConfig = z.object({
  servers: z
    .record(z.string(), McpServerSettings)
    .superRefine((servers, context) => {
      for (const name of Object.keys(servers)) {
        if (!SERVER_NAME.test(name))
          context.addIssue({
            code: 'custom',
            path: [name],
            message: 'a server is called by at most 32 small letters and digits, parted by single - or _',
          })
      }
    })
    .default({})
    .meta({ reload: 'applied' })
    .describe('MCP servers by name: the tools of each are the toolkit mcp_<name>'),
})
export type McpClientConfig = z.output<typeof McpClientConfig>
