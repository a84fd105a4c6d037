import { Agent, get } from 'node:http'

/**
 * Requests one URL at a steady rate until the parent sends a stop, and reports the answers. Runs in its own process.
 */
const [, , url = '', rate = '500'] = process.argv
// Uses the connections in turn, so that none is idle for so long that the server closes it at its next use.
const agent = new Agent({ keepAlive: true, maxSockets: 32, scheduling: 'fifo' })
const failures: string[] = []
const latencies: number[] = []
let sent = 0
let answered = 0

function ask(): void {
  sent++
  const began = performance.now()
  const fail = (why: string) => {
    failures.push(why)
    settle()
  }
  const request = get(url, { agent }, response => {
    let text = ''
    response.setEncoding('utf8').on('data', part => {
      text += part
    })
    response.on('error', error => fail(error.message))
    response.on('end', () => {
      latencies.push(performance.now() - began)
      if (response.statusCode !== 200) fail(`${response.statusCode}: ${text.slice(0, 300)}`)
      else {
        answered++
        settle()
      }
    })
  })
  request.on('error', error => fail(error.message))
}

const begun = performance.now()
let stopping = false
const timer = setInterval(() => {
  const due = ((performance.now() - begun) / 1000) * Number(rate)
  while (!stopping && sent < due) ask()
}, 5)

/** Reports the answers once all have arrived. */
function settle(): void {
  if (!stopping || answered + failures.length < sent) return
  const seconds = (performance.now() - begun) / 1000
  process.send?.({ sent, answered, failures, latencies, rate: sent / seconds }, () => process.exit(0))
}

process.on('message', () => {
  stopping = true
  clearInterval(timer)
  settle()
})
