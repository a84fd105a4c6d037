import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Ports, SvcError } from '#kernel'
import { type DemoReport, type DemoRunner, DemoTheatre } from '#lab/demos/contract'
import type { Context, HandWritten } from '../context.ts'
import { UsageError } from '../contract.ts'
import { StatusLines } from '../process/status-lines.ts'
import { openWithWarnings } from '../process/warnings.ts'
import { findProject } from '../project/project.ts'
import { endSignal } from '../screen/interrupt.ts'
import { writeOutput } from '../screen/output.ts'
import { print, printable } from '../screen/printable.ts'

const USAGE = 'svc demo survival --seed 7'

/** Plays a demo, or lists the demos if none is named. */
const demo: HandWritten = async (input, context) => {
  const { ports, terminal, json, named } = context
  await using place = await placeFor(ports, named)
  await using kernel = await openWithWarnings(place.root, context)
  const runner = kernel.use(DemoTheatre)
  if (input.name === undefined) {
    return list(runner, context)
  }
  const signal = endSignal()
  const stand = new StatusLines(terminal, input.quiet === true || json)
  const { name, model, cycles, seed, case: part, keep } = input
  const options = { name, model, cycles, seed, part, keep }
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
  let report: DemoReport
  try {
    report = await runner.play({
      ...(given as { name: string }),
      signal,
      say: line => stand.say(line),
      show: lines => stand.show(lines),
    })
  } catch (error) {
    stand.end()
    if (signal.aborted) {
      terminal.err('svc: the demo was stopped before its end, so there is no report.')
      return 130
    }
    if ((error as SvcError).code !== 'invalid_input') throw error
    throw new UsageError({ problem: `demo: ${(error as Error).message}`, usage: USAGE })
  }
  stand.end()
  const text = runner.markdown(report)
  await writeOutput(ports, input.output, text, 0o644)
  await writeOutput(ports, input.html, runner.html(report), 0o644)
  print(context, report, printable(text.trimEnd()))
  if (keep !== undefined) terminal.err(`svc: the project of the demo is in ${printable(resolve(String(keep)))}`)
  return 0
}
export default demo

/** Returns the project whose plugins and models are used; without one, an empty temporary project. */
async function placeFor({ files, env }: Ports, named: string | undefined) {
  const found = await findProject({ files, env }, named).catch(error => {
    if (named !== undefined) throw error
    return undefined
  })
  if (found !== undefined) return { root: found, async [Symbol.asyncDispose]() {} }
  const root = await files.mkdtemp(join(tmpdir(), 'svc-demo-'))
  return { root, [Symbol.asyncDispose]: () => files.rm(root, { recursive: true, force: true }) }
}

function list(runner: DemoRunner, context: Context): number {
  const { terminal } = context
  const all = runner.list().map(({ name, summary, parts }) => ({ name, summary, parts: parts?.() ?? [] }))
  const lines = all.flatMap(({ name, summary, parts }) => [
    `${terminal.style.bold(name)}  ${printable(summary)}`,
    ...parts.map(part => `    --case ${printable(part.name)}  ${printable(part.title)}`),
  ])
  return print(context, all, [...lines, '', `Run one with: ${USAGE}`].join('\n'))
}
