import type { DoctorModule } from '#interfaces/doctor/contract'
import type { McpStdioModule } from '#interfaces/mcp/contract'
import type { FoundServer } from '#interfaces/rest/contract'
import type { Configuration, Kernel, Ports, Role } from '#kernel'
import type { LogOptions } from '#lib/log'
import type { LocalServers } from '#platform/cluster/contract'
import type { FoundDaemon } from '#platform/daemon/contract'
import type { DatabaseFiles } from '#platform/store/contract'
import type { CommandSpec, CommandTree } from './contract.ts'
import type { Terminal } from './screen/terminal.ts'

/** What the program provides to its command line. */
export interface CliProgram {
  /** The folder of package.json, `dist/` and `profiles/`. */
  readonly packageRoot: string
  /** Opens a kernel in this process. */
  open(options: {
    root: string
    roles: readonly Role[]
    log: LogOptions
    /** The command that starts this process again. */
    restart?: readonly string[]
    /** Which plugin files run: those of a trusted project by default, or none. */
    pluginFiles?: 'trusted' | 'none'
    /** Opens with any configuration, to inspect or repair it. */
    lenient?: boolean
    /** Called before any plugin is there. */
    prepare?: (kernel: Kernel) => void
    /** Changes of plugin files are live as soon as they are saved. */
    dev?: boolean
    ports?: Partial<Ports>
  }): Promise<Kernel>
  /** Reads the configuration of the project at `root` without bringing anything up. @throws BadFileError */
  configOf(ports: Ports, root: string): Promise<Configuration>
  /** The daemon of the project whose `.svc/` this is, found without bringing anything up. */
  findDaemon(ports: Ports, svc: string): Promise<FoundDaemon | undefined>
  /** The same of all: the project's own, and those that joined it. */
  findDaemons(ports: Ports, svc: string): Promise<FoundDaemon[]>
  /** The servers of the project that run. */
  findServers(ports: Ports, svc: string): Promise<FoundServer[]>
  /** How MCP is spoken over standard input and output, also where there is no project yet. */
  mcpStdio(): Promise<McpStdioModule>
  /** What is done with a database's file without bringing anything up. */
  databaseFiles(): Promise<DatabaseFiles>
  /** A PostgreSQL of the project's own, to try several machines with. */
  databaseServer(): Promise<LocalServers>
  /** How the machine, the project and its processes are looked at. */
  doctor(): Promise<DoctorModule>
  /** The sources of the program, where it runs in a checkout. */
  checkout(): Promise<{
    /** Returns those that a process takes only when it starts. */
    sourcesOfStart(root: string, files: Ports['files'], isBuilt: boolean): Promise<string[]>
  }>
  /** `svc simulate`, which is part of `svc/testing`. */
  simulate(): Promise<{ default: HandWritten }>
  /** How a database is read at each Tab. Gives no rows when it cannot be read. */
  peek(): Promise<{
    peek(file: string, sql: string, ports: Pick<Ports, 'files'>): Promise<Record<string, unknown>[]>
  }>
}

/** What every command is given. */
export interface Context {
  readonly program: CliProgram
  readonly ports: Ports
  readonly terminal: Terminal
  /** The builtins' commands and the version. */
  readonly tree: CommandTree
  /** All commands: those written by hand, of the builtins, and of the project's plugins as far as they are known. */
  readonly commands: readonly CommandSpec[]
  /** The project's folder that was named by `--root`. */
  readonly named: string | undefined
  /** Output is for programs. */
  readonly json: boolean
}

/** A command that is written by hand: returns the exit code. */
export type HandWritten = (input: Readonly<Record<string, unknown>>, context: Context) => Promise<number>
