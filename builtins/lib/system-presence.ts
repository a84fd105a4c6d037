import type { Server } from 'node:net'
import type { Presence } from '#kernel'

/** Detects running processes by unix sockets. */
export const systemPresence: Presence = {
  async hold(path) {
    const { createServer } = await import('node:net')
    const server = createServer(visitor => visitor.destroy())
    // The heartbeat keeps the process alive; this server must not.
    server.unref()
    await listening(server, path)
    return () => new Promise<void>(done => server.close(() => done()))
  },
  async held(path) {
    const { connect } = await import('node:net')
    return new Promise(settle => {
      // A connection succeeds even when the process is stopped or busy.
      const probe = connect(path, () => {
        probe.destroy()
        settle(true)
      })
      // Any other error, such as a full backlog or missing rights, means that a process listens.
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
