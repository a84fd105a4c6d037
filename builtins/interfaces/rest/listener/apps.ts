import type { FastifyInstance } from 'fastify'
import { Operations } from '#kernel'
import { ProtocolRoutes, StaticRoutes } from '../contract.ts'
import { type AppParts, createApp } from '../request/app.ts'
import { routeTable } from '../request/routes.ts'

/**
 * The Fastify app of the moment. Fastify can't drop a route, so when the set of routes changes a fresh app takes over at
 * the next request; requests in flight end on the one that they began on.
 */
export class Apps {
  readonly #parts: AppParts
  #stale = true
  #shape = ''
  #app: Promise<FastifyInstance> | undefined
  #made: FastifyInstance | undefined

  constructor(parts: AppParts) {
    this.#parts = parts
  }

  /** Says that operations or pages came or went. */
  invalidate(): void {
    this.#stale = true
  }

  /** The app itself where it stands, else one that is being made. */
  current(): FastifyInstance | Promise<FastifyInstance> {
    if (!this.#stale && this.#made) return this.#made
    if (!this.#app || this.#stale) {
      this.#made = undefined
      const app = this.#renew(this.#app)
      this.#app = app
      app.then(
        made => {
          if (this.#app === app) this.#made = made
        },
        () => {},
      )
    }
    return this.#app
  }

  async #renew(before: Promise<FastifyInstance> | undefined): Promise<FastifyInstance> {
    this.#stale = false
    const { svc } = this.#parts
    const table = routeTable(svc.list(Operations), svc.list(StaticRoutes), svc.list(ProtocolRoutes))
    const { routes, pages, protocols } = table
    const shape = JSON.stringify([
      ...[routes, pages.map(({ path }) => path)],
      protocols.map(({ path, methods, open }) => [path, methods, open]),
    ])
    if (before && shape === this.#shape) return before
    this.#shape = shape
    try {
      return await createApp(this.#parts, table)
    } catch (error) {
      this.#shape = ''
      this.#stale = true
      throw error
    }
  }
}
