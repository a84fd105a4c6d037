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
    /** Accepts an invalid configuration, to inspect or repair it. */
    lenient?: boolean
    /** Called before any plugin is loaded. */
    prepare?: (kernel: Kernel) => void
    /** Applies changes of plugin files as soon as they are saved. */
    dev?: boolean
    ports?: Partial<Ports>
  }): Promise<Kernel>
  /**
   * Reads the configuration of the project at `root` without opening a kernel.
   * @throws BadFileError
   */
  configOf(ports: Ports, root: string): Promise<Configuration>
  /** Finds the daemon of the project with this `.svc/` folder, without opening a kernel. */
  findDaemon(ports: Ports, svc: string): Promise<FoundDaemon | undefined>
  /** Finds all daemons: the project's own, and those that joined it. */
  findDaemons(ports: Ports, svc: string): Promise<FoundDaemon[]>
  /** Finds the running servers of the project. */
  findServers(ports: Ports, svc: string): Promise<FoundServer[]>
  /** Serves MCP over standard input and output, also without a project. */
  mcpStdio(): Promise<McpStdioModule>
  /** Functions on database files that need no kernel. */
  databaseFiles(): Promise<DatabaseFiles>
  /** Local PostgreSQL server of a project, to try several machines with. */
  databaseServer(): Promise<LocalServers>
  /** Diagnoses the machine, the project and its processes. */
  doctor(): Promise<DoctorModule>
  /** The sources of the program, where it runs in a checkout. */
  checkout(): Promise<{
    /** Returns the sources that a process loads only at startup. */
    sourcesOfStart(root: string, files: Ports['files'], isBuilt: boolean): Promise<string[]>
  }>
  /** `svc simulate`, which is part of `svc/testing`. */
  simulate(): Promise<{ default: HandWritten }>
  /** Reads a database for completion. Returns no rows if the database cannot be read. */
  peek(): Promise<{
    peek(file: string, sql: string, ports: Pick<Ports, 'files'>): Promise<Record<string, unknown>[]>
  }>
}

/** Data and services passed to every command. */
export interface Context {
  readonly program: CliProgram
  readonly ports: Ports
  readonly terminal: Terminal
  /** The builtins' commands and the version. */
  readonly tree: CommandTree
  /** All commands: handwritten ones, those of the builtins, and known ones of the project's plugins. */
  readonly commands: readonly CommandSpec[]
  /** Project folder given by `--root`. */
  readonly named: string | undefined
  /** Whether to print JSON for programs. */
  readonly json: boolean
}

/** A handwritten command. Returns the exit code. */
export type HandWritten = (input: Readonly<Record<string, unknown>>, context: Context) => Promise<number>
