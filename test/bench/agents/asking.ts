import { request } from 'node:http'

export interface StreamRequest {
  url: string
  body: object
  /** Total number of streams, and the number that begin in a second. */
  streams: number
  rate: number
}

/** Opens streams at a steady rate, and reports the age of each first token on arrival. Runs in its own process. */
process.on('message', ({ url, body, streams, rate }: StreamRequest) => {
  const ages: number[] = []
  const text = JSON.stringify(body)
  let left = streams
  const ask = () => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
    const asking = request(url, { method: 'POST', headers, agent: false }, response => {
      let received: string | undefined = ''
      response.setEncoding('latin1').on('data', part => {
        if (received === undefined) return
        received += part
        const at = /sent at (\d+) /.exec(received)?.[1]
        if (at === undefined) return
        ages.push(Number(process.hrtime.bigint() - BigInt(at)) / 1e6)
        received = undefined
      })
      response.on('close', () => {
        if (response.statusCode !== 200) console.error(`${url} answered ${response.statusCode}: ${received}`)
        if (--left === 0) process.send?.(ages)
      })
    })
    asking.on('error', error => console.error(error))
    asking.end(text)
  }
  for (let n = 0; n < streams; n++) setTimeout(ask, (n * 1000) / rate)
})
