import { connect } from 'node:net'

const CONNECTIONS = 16

/**
 * Requests a URL a given number of times, over several connections at once, and reports the end. Runs in its own
 * process.
 */
process.on('message', ({ url, count }: { url: string; count: number }) => {
  const { hostname, port, pathname, search } = new URL(url)
  const request = Buffer.from(`GET ${pathname}${search} HTTP/1.1\r\nHost: ${hostname}:${port}\r\n\r\n`)
  let left = count
  let open = CONNECTIONS
  for (let n = 0; n < CONNECTIONS; n++) {
    const socket = connect(Number(port), hostname)
    let head = ''
    let missing = -1
    const ask = () => {
      if (left-- > 0) socket.write(request)
      else socket.end()
    }
    socket.on('connect', ask)
    socket.on('data', bytes => {
      if (missing < 0) {
        head += bytes.toString('latin1')
        const end = head.indexOf('\r\n\r\n')
        if (end < 0) return
        if (!head.startsWith('HTTP/1.1 200')) throw new Error(head)
        missing = Number(/content-length: (\d+)/i.exec(head)![1]) - (head.length - end - 4)
      } else missing -= bytes.length
      if (missing > 0) return
      head = ''
      missing = -1
      ask()
    })
    socket.on('close', () => {
      if (--open === 0) process.send?.('done')
    })
  }
})
