import { connect, createServer, type Socket } from 'node:net'

/** Connection between a machine and the database that can be cut. */
export interface Line {
  /** URL of the database, as the machine sees it. */
  readonly url: string
  /** Command prefix of programs that run at its end. */
  readonly within: readonly string[]
  cut(): void
  mend(): void
  close(): void
}

/** Connection within this process: no side is notified of a cut, and data in transit arrives once it is mended. */
export class Cable implements Line {
  readonly url: string
  readonly within = []
  readonly #sockets: Set<Socket>
  readonly #state: { cut: boolean }
  readonly #close: () => void

  private constructor(url: string, sockets: Set<Socket>, state: { cut: boolean }, close: () => void) {
    this.url = url
    this.#sockets = sockets
    this.#state = state
    this.#close = close
  }

  /** @param address at which it listens */
  static async open(url: string, address = '127.0.0.1'): Promise<Cable> {
    const to = new URL(url)
    const { port, hostname } = to
    const sockets = new Set<Socket>()
    const state = { cut: false }
    const server = createServer(near => {
      const far = connect(Number(port), hostname)
      for (const [from, into] of [
        [near, far],
        [far, near],
      ] as const) {
        sockets.add(from)
        from.on('error', () => into.destroy())
        from.on('close', () => {
          sockets.delete(from)
          into.destroy()
        })
        from.on('data', data => into.write(data))
        if (state.cut) from.pause()
      }
    })
    await new Promise<void>(resolve => server.listen(0, address, resolve))
    to.hostname = address
    to.port = String((server.address() as { port: number }).port)
    return new Cable(String(to), sockets, state, () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    })
  }

  cut(): void {
    this.#state.cut = true
    for (const socket of this.#sockets) socket.pause()
  }

  mend(): void {
    this.#state.cut = false
    for (const socket of this.#sockets) socket.resume()
  }

  close(): void {
    this.#close()
  }
}
