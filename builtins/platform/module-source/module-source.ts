import type { FoundPlugin, LoadedPlugin, PluginDefinition, PluginSource } from '#kernel'

/** The built-in modules as a source of plugins. */
export class ModuleSource implements PluginSource {
  readonly unloaded = []
  readonly #modules: ReadonlyMap<string, PluginDefinition>

  constructor(modules: readonly PluginDefinition[]) {
    this.#modules = new Map(modules.map(module => [module.name, module]))
  }

  async find(): Promise<FoundPlugin[]> {
    return [...this.#modules.keys()].map(stem => ({ origin: 'builtin', stem, revision: 'shipped' }))
  }

  async load({ stem }: FoundPlugin): Promise<LoadedPlugin> {
    return { definition: this.#modules.get(stem)!, origin: 'builtin', stem, load_ms: 0 }
  }

  retryAfter(): undefined {}

  onChange(): () => void {
    return () => {}
  }

  tick(): void {}
}
