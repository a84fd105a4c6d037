import { once } from 'node:events'
import { request } from 'node:http'
import { project } from '../../cli/project.ts'
import { RunningSvc } from '../../support/cli.ts'
import { fault, modelServer, text } from '../../support/model/model-server.ts'
import { until } from '../../support/until.ts'
import { idleLag, median } from '../measures.ts'
import { program } from '../package.ts'
import { type Row, row } from '../row.ts'

const ROUNDS = 5
const STREAMS = 100
const WORDS = ['serve', '--with-daemon', '--port', '0', '--json', '--profiles', 'coder,writer']

/** Measures the time from SIGTERM to the end of a service with open streams, and agents whose model hangs. */
export async function stop(): Promise<Row[]> {
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) times.push(await timeStop())
  const { max: late } = await idleLag()
  return [
    row({
      what: `stop after SIGTERM, ${STREAMS} open streams and a model that hangs, on the wall`,
      figure: median(times),
      unit: 'ms',
      aim: { atMost: 2_500 },
      unclear: late > 50 ? `timers are up to ${late.toFixed(0)} ms late on this machine now` : undefined,
      note: `at most ${Math.max(...times).toFixed(0)} ms`,
    }),
  ]
}

async function timeStop(): Promise<number> {
  await using model = await modelServer({
    script: ({ prompt }) => (prompt.includes('"goal":') ? text('{"goal": "Read the tide tables"}') : fault('hang')),
  })
  await using dir = await project()
  const env = { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'none', SVC_DEFAULT_MODEL: 'openai:scripted-1' }
  await using running = new RunningSvc(WORDS, { cwd: dir.path, program: await program(), env })
  const [, url = ''] = await running.waitForOutput(/"url":"(http[^"]+)"/)
  await until(() => model.requests.filter(({ prompt }) => !prompt.includes('"goal":')).length >= 2)
  await Promise.all(Array.from({ length: STREAMS }, () => openStream(`${url}/events`)))
  const began = performance.now()
  const exit = await running.end('SIGTERM')
  if (exit !== 0) throw new Error(`svc ended with ${exit}: ${running.stderr}`)
  return performance.now() - began
}

async function openStream(url: string): Promise<void> {
  const opening = request(url, { agent: false }).end()
  const [answer] = await once(opening, 'response')
  if (answer.statusCode !== 200) throw new Error(`a stream was answered ${answer.statusCode}`)
  answer.resume().on('error', () => {})
}
