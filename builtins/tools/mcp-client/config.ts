import { z } from '#kernel'

const Variable = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'is not a valid name of an environment variable')
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
        .describe('Preset to use instead of command or url. playwright: a headless browser, started with npx'),
      command: z
        .string()
        .trim()
        .min(1)
        .max(1000)
        .optional()
        .describe('Program to run, for a server that is a local process'),
      args: z
        .array(z.string().max(10_000))
        .max(100)
        .default([])
        .describe('Arguments of the program, passed without a shell. With a preset: additional arguments'),
      cwd: z.string().min(1).optional().describe('Working folder, relative to the project (default: the project)'),
      env: z
        .record(Variable, z.string())
        .default({})
        .describe('Environment variables for the program; not for secrets'),
      pass_env: z
        .array(Variable)
        .default([])
        .describe('Names of environment variables of svc that are passed to the program, such as API keys'),
      url: z
        .url({ protocol: /^https?$/ })
        .optional()
        .describe('URL of a server over HTTP; svc connects to exactly this address'),
      headers_env: z
        .record(z.string().regex(/^[A-Za-z0-9-]+$/, 'is not a valid header name'), Variable)
        .default({})
        .describe(
          'HTTP headers, each with the environment variable that holds its value. For Authorization, a value without spaces is sent as a bearer token',
        ),
      enabled: z.boolean().default(true),
      start_timeout: Seconds.default(60).describe(
        'Time limit for starting the server and listing its tools, in seconds',
      ),
      timeout: Seconds.default(60).describe('Time limit of one call, in seconds; daemon.tool_timeout applies as well'),
      profiles: z
        .array(z.string())
        .nullable()
        .default(null)
        .describe('Agent presets whose agents get the tools of the server; null for all'),
      tools: z
        .strictObject({ allow: Patterns.nullable().default(null), deny: Patterns.default([]) })
        .prefault({})
        .describe('Tools to offer, by name patterns such as read_*; deny takes precedence over allow'),
      require_approval: Patterns.default([]).describe(
        'Name patterns of tools whose calls wait for approval by the operator, where approvals are enabled',
      ),
      trust_annotations: z
        .boolean()
        .default(false)
        .describe(
          "Whether to trust the server's information on which tools may run again when the outcome of a call is unknown",
        ),
      pin: z
        .boolean()
        .default(false)
        .describe(
          'Whether to hold back tools that are new or changed since the first listing, until the operator accepts them',
        ),
    },
    'must be a mapping, such as { command: npx, args: [-y, a-server] } or { url: https://… }',
  )
  .superRefine(({ command, url, preset, env, ...more }, context) => {
    const fault = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message })
    const ways = [command, url, preset].filter(way => way !== undefined)
    if (ways.length !== 1) fault('command', 'set exactly one of command, url and preset')
    if (preset !== undefined && more.cwd !== undefined)
      fault('cwd', 'cannot be combined with a preset, which has a fixed working folder')
    if (url !== undefined) {
      const other = more.args.length + more.pass_env.length + Object.keys(env).length > 0 || more.cwd !== undefined
      if (other) fault('url', 'args, cwd, env and pass_env apply only to a server with a command')
      const { username, password } = new URL(url)
      if (username || password) fault('url', 'must not contain a user or password; use headers_env instead')
    } else if (Object.keys(more.headers_env).length > 0) fault('headers_env', 'applies only to a server with a url')
    for (const name of Object.keys(env)) {
      if (SECRET_NAME.test(name))
        fault('env', `${name} looks like a secret: set it in the environment of svc, and list it under pass_env`)
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
            message: 'a server name has at most 32 lower-case letters and digits, separated by single - or _',
          })
      }
    })
    .default({})
    .meta({ reload: 'applied' })
    .describe('MCP servers by name; the tools of each form the toolkit mcp_<name>'),
})
export type McpClientConfig = z.output<typeof McpClientConfig>
