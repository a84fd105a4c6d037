import { Agent, get } from 'node:http'

/** Asks one URL at a steady rate until the parent says to stop, and reports what came back. Runs as a process of its own. */
const [, , url = '', rate = '500'] = process.argv
// In turn, so that none is idle for so long that the server closes it just when it is used again.
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

/** What came back, once all has. */
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
