import { get } from 'node:http'

/** Reads a stream over and over at once, and reports how old each token was when it came. Runs as a process of its own. */
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
