import type { FastifyInstance } from 'fastify'
import { Operations } from '#kernel'
import { ProtocolRoutes, StaticRoutes } from '../contract.ts'
import { type AppParts, createApp } from '../request/app.ts'
import { routeTable } from '../request/routes.ts'

/**
 * Holds the current Fastify app. Fastify cannot remove a route, so when the set of routes changes a new app takes over
 * at the next request. Requests in flight finish on the app on which they began.
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

  /** Marks the app as stale, after operations or pages were added or removed. */
  invalidate(): void {
    this.#stale = true
  }

  /** Returns the app where it is ready, else a promise of it. */
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
      routes,
      pages.map(({ path }) => path),
      protocols.map(({ path, methods, open, body_bytes }) => [path, methods, open, body_bytes]),
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
