import type { HandWritten } from '../context.ts'
import type { ArgumentSpec, CommandSpec, OptionSpec } from '../contract.ts'
import { PLUGIN_KINDS } from '../scaffold/kinds.ts'

export interface OwnCommand extends CommandSpec {
  load(): Promise<{ default: HandWritten }>
}

const profiles = text('profiles', 'p', 'Presets to spawn where no agent of theirs is alive: a,b')
const heartbeat = text('heartbeat', 'b', "Seconds between an agent's cycles; written to .svc/config.yaml")
const detach = flag('detach', 'd', 'Leave the terminal once the daemon is up')
const dev = flag('dev', null, 'Apply changes of plugin files as soon as they are saved')
const join = flag('join', null, 'Run beside the daemon that runs, on purpose: both drive the same agents')
const timeout = { ...text('timeout', 't', 'Seconds until the daemon is killed'), default: 30 }

/** What is about the project and its processes, and therefore written by hand. */
export const OWN_COMMANDS: readonly OwnCommand[] = [
  command(
    'init',
    'Make a project in this folder',
    [flag('quiet', 'q', 'Say nothing when all is well')],
    () => import('./init.ts'),
  ),
  command(
    'start',
    'Start the daemon, which keeps the agents alive',
    [profiles, heartbeat, detach, dev, join],
    () => import('./start.ts'),
  ),
  {
    ...command('stop', 'Stop the daemon, and those that joined it', [timeout], () => import('./stop.ts')),
    arguments: [{ ...argument('pid', 'Only the one with this PID'), type: 'number', required: false }],
  },
  command(
    'restart',
    'Stop the daemon, then start it',
    [profiles, heartbeat, detach, dev, timeout],
    () => import('./restart.ts'),
  ),
  command(
    'serve',
    'Serve the dashboard and the REST API',
    [
      { ...text('host', null, 'Address to listen on'), default: '127.0.0.1' },
      { ...text('port', 'p', 'Port to listen on; 0 takes a free one'), default: 8000 },
      flag('with-daemon', null, 'Run the daemon in this process'),
      { ...profiles, short: null },
      dev,
    ],
    () => import('./serve.ts'),
  ),
  command(
    'mcp',
    'Speak MCP on standard input and output, for the programs that start it',
    [],
    () => import('./mcp.ts'),
  ),
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
]

function argument(field: string, description: string): ArgumentSpec {
  return { field, type: 'text', required: true, rest: false, description }
}

function command(word: string, summary: string, options: OptionSpec[], load: OwnCommand['load']): OwnCommand {
  return { path: [word], summary, description: '', arguments: [], options, operation: null, load }
}

function flag(name: string, short: string | null, description: string): OptionSpec {
  return { ...text(name, short, description), type: 'boolean' }
}

function text(name: string, short: string | null, description: string): OptionSpec {
  const field = name.replaceAll('-', '_')
  return { field, name, short, type: 'text', required: false, default: null, choices: null, description }
}
