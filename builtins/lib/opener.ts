import { type Kernel, type PluginDefinition, type Ports, type Role, type Token, token } from '#kernel'
import type { LogOptions } from '#lib/log'

/** Opens a separate project for experiments, with the same builtins and additional plugins. */
export interface Opener {
  open(options: {
    root: string
    roles: readonly Role[]
    ports?: Partial<Ports>
    log?: LogOptions
    also?: readonly PluginDefinition[]
  }): Promise<Kernel>
}
export const OpenerToken: Token<Opener> = token('opener')
