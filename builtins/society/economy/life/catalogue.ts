import { fileURLToPath } from 'node:url'
import { type PluginHandle, parse, z } from '#kernel'
import { BadFileError, readYaml } from '#lib/yaml'
import { CATEGORIES, LifeEvent, LifeEvents } from '../contract.ts'

/** Folder of the event files: next to this module in source, next to the bundle in a build. */
const FOLDER = new URL(import.meta.url.endsWith('.ts') ? './catalogue/' : './life-events/', import.meta.url)

const File = z.strictObject({ events: z.array(LifeEvent.omit({ category: true })) })

export type Catalogue = ReadonlyMap<string, LifeEvent>

/** All life events: one file for each category, and those of plugins. Files are read on first use. */
export class LifeCatalogue {
  readonly #svc: PluginHandle
  #own: Promise<readonly LifeEvent[]> | undefined

  constructor(svc: PluginHandle) {
    this.#svc = svc
  }

  /** Returns the events by id; a plugin's event replaces a built-in one with the same id. */
  async all(): Promise<Catalogue> {
    this.#own ??= this.#read().catch(error => {
      this.#own = undefined
      throw error
    })
    const added = this.#svc.list(LifeEvents).map(event => LifeEvent.parse(event))
    return new Map([...(await this.#own), ...added].map(event => [event.id, event]))
  }

  async #read(): Promise<LifeEvent[]> {
    const files = await Promise.all(
      CATEGORIES.map(async category => {
        const name = `${category}.yaml`
        const { values } = await readYaml(this.#svc.ports.files, fileURLToPath(new URL(name, FOLDER)), name)
        if (!('events' in values)) throw new BadFileError({ file: name, problem: 'has no key "events"' })
        return parse(File, values, name).events.map(event => ({ ...event, category }))
      }),
    )
    return files.flat()
  }
}
