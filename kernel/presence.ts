import type { Server } from 'node:net'

/** How the processes of one machine tell that they live: by sockets, which the system closes however a process ends. */
export interface Presence {
  /** Listens at a path for as long as this process lives. @returns the release. Rejects when the path is taken or cannot be made */
  hold(path: string): Promise<() => Promise<void>>
  /** Whether somebody listens at a path. Never rejects. */
  held(path: string): Promise<boolean>
}

export const systemPresence: Presence = {
  async hold(path) {
    const { createServer } = await import('node:net')
    const server = createServer(visitor => visitor.destroy())
    // The heartbeat keeps the process alive, not this.
    server.unref()
    await listening(server, path)
    return () => new Promise<void>(done => server.close(() => done()))
  },
  async held(path) {
    const { connect } = await import('node:net')
    return new Promise(settle => {
      // Taken by the probe also from processes that are stopped or busy.
      const probe = connect(path, () => {
        probe.destroy()
        settle(true)
      })
      // Anything but "nobody listens" (a full backlog, a lack of rights) means that somebody does.
      probe.once('error', (error: NodeJS.ErrnoException) => {
        settle(!['ENOENT', 'ECONNREFUSED', 'ENOTSOCK', 'ENOTDIR'].includes(error.code ?? ''))
      })
    })
  },
}

function listening(server: Server, path: string): Promise<void> {
  return new Promise((opened, failed) => {
    server.once('error', failed)
    server.listen(path, opened)
  })
}
