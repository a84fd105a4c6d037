import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { modelServer, type Reply } from '../../support/model/model-server.ts'
import { svc } from '../../support/vitest/warm.ts'
import { project } from '../project.ts'
import { tmux, withTmux } from './tmux.ts'

const PROGRAM = `${process.execPath} ${join(process.cwd(), 'dist/svc.js')}`
const cut = (text: string): Reply => ({ kind: 'breakage', mode: 'cleancut', text })
const whole = (text: string): Reply => ({ kind: 'answer', text, tool_calls: [] })
const ANSWER = 'It is four,\nand it will stay four.'

/** Creates a project with an agent whose model gives these replies in turn, again for every command. */
async function startProject(...replies: Reply[]) {
  const model = await modelServer({ script: (_, n) => replies[(n - 1) % replies.length] })
  onTestFinished(() => model.close())
  const dir = await project({ '.svc/config.yaml': 'model: { retry_delay: 0 }\n' })
  onTestFinished(() => dir[Symbol.asyncDispose]())
  const env = { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'key', OPENAI_MODEL: 'scripted' }
  await svc(['spawn', 'coder'], { cwd: dir.path, env })
  return { cwd: dir.path, env }
}

describe('svc run with an answer that is started again', () => {
  it('writes only the final output to a pipe', async () => {
    const project = await startProject(cut('It is fi'), whole(ANSWER))
    expect(await svc(['run', 'coder', 'How many?'], project)).toMatchObject({ code: 0, stdout: `${ANSWER}\n` })
  })

  it('reports the reset as an event with --json', async () => {
    const project = await startProject(cut('It is fi'), whole(ANSWER))
    const { stdout } = await svc(['run', 'coder', 'How many?', '--json'], project)
    const events = stdout
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as { event: string })
    expect(events.map(({ event }) => event).filter((event, n, all) => event !== all[n - 1])).toEqual([
      'token',
      'reset',
      'token',
      'done',
    ])
  })

  it.skipIf(!withTmux)('erases on a terminal what it showed before', async () => {
    const { cwd, env } = await startProject(cut(`${'It is five. '.repeat(20)}\nOr is it?`), whole(ANSWER))
    const command = `${PROGRAM} run coder 'How many?'; echo "left with $?"; cat`
    await using terminal = await tmux(cwd, { columns: 50, rows: 20 }, command, { ...env, SVC_TRUST_PROJECT: 'true' })
    const page = await terminal.shows(/left with 0/)
    expect(page.trimEnd()).toMatch(/^svc: warning: The model .*\(1 of 2\)\.\nIt is four,\n/s)
    expect(page.trimEnd().endsWith(`${ANSWER}\ncompleted\nleft with 0`)).toBe(true)
    expect(page).not.toContain('five')
  })

  it.skipIf(!withTmux)('says that the answer starts again where the old text is longer than the screen', async () => {
    const { cwd, env } = await startProject(cut('It is five.\n'.repeat(20)), whole(ANSWER))
    const command = `${PROGRAM} run coder 'How many?'; echo "left with $?"; cat`
    await using terminal = await tmux(cwd, { columns: 50, rows: 12 }, command, { ...env, SVC_TRUST_PROJECT: 'true' })
    const page = await terminal.shows(/left with 0/)
    expect(page.trimEnd()).toMatch(new RegExp(`\\[the answer starts over\\]\n${ANSWER}\ncompleted\nleft with 0$`))
  })

  it.skipIf(!withTmux)('erases what it showed before in svc agent chat too', async () => {
    const { cwd, env } = await startProject(cut('It is five'), whole(ANSWER))
    const command = `${PROGRAM} agent chat coder`
    await using terminal = await tmux(cwd, { columns: 60, rows: 20 }, command, { ...env, SVC_TRUST_PROJECT: 'true' })
    await terminal.shows(/coder\S* ›/)
    await terminal.type('How many?', 'Enter')
    const page = await terminal.shows(/stay four\.\n\S+ ›/)
    expect(page).not.toContain('five')
  })
})
