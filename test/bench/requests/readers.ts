import { get } from 'node:http'

/** Reads a stream many times at once, and reports the age of each token on arrival. Runs in its own process. */
process.on('message', ({ url, streams, tokens }: { url: string; streams: number; tokens: number }) => {
  const delays: number[] = []
  let open = streams
  for (let n = 0; n < streams; n++) {
    get(url, { agent: false }, response => {
      let text = ''
      let count = 0
      response.setEncoding('latin1').on('data', part => {
        const now = process.hrtime.bigint()
        text += part
        const blocks = text.split('\n\n')
        text = blocks.pop()!
        for (const block of blocks) {
          const at = /"at":"(\d+)"/.exec(block)?.[1]
          if (at) delays.push(Number(now - BigInt(at)) / 1e6)
          if (at && ++count === tokens) response.destroy()
        }
      })
      response.on('close', () => {
        if (--open === 0) process.send?.(delays)
      })
    })
  }
})
