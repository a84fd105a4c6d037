import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { modelServer, type Reply, toolCall } from '../../support/model/model-server.ts'
import { until } from '../../support/until.ts'
import { svc } from '../../support/vitest/warm.ts'
import { project } from '../project.ts'
import { tmux, withTmux } from './tmux.ts'

const PROGRAM = `${process.execPath} ${join(process.cwd(), 'dist/svc.js')}`
const says = (text: string): Reply => ({ kind: 'answer', text, tool_calls: [] })

/** Creates a project with an agent named ada whose model gives these replies in turn, the last one again and again. */
async function startProject(config: string, ...replies: (Reply | Promise<Reply>)[]) {
  const model = await modelServer({ script: (_, n) => replies[Math.min(n, replies.length) - 1] })
  onTestFinished(() => model.close())
  const dir = await project({ '.svc/config.yaml': config, 'work/notes.txt': 'four\n' })
  onTestFinished(() => dir[Symbol.asyncDispose]())
  const env = {
    OPENAI_BASE_URL: model.url,
    OPENAI_API_KEY: 'key',
    OPENAI_MODEL: 'scripted',
    SVC_TRUST_PROJECT: 'true',
  }
  await svc(['spawn', 'coder', '--name', 'ada', '--workspace', 'work'], { cwd: dir.path, env })
  /** Returns the instructions that the model was sent, oldest first, without what svc added. */
  const instructions = () =>
    model.requests.map(({ body }) => {
      const { content } = body.messages.findLast(({ role }) => role === 'user')!
      const said = String(content).replace(/^This is your conversation with a person\..*\n\n/, '')
      return said.split('\n\n[State when this message was sent')[0]
    })
  return { cwd: dir.path, env, instructions }
}

/** Runs the chat with this text in a pipe. @returns what it printed on standard output */
async function pipeToChat(input: string, { cwd, env }: { cwd: string; env: object }): Promise<string> {
  const words = [join(process.cwd(), 'dist/svc.js'), 'agent', 'chat', 'ada']
  const child = spawn(process.execPath, words, { cwd, env: { ...process.env, ...env } })
  child.stdin.end(input)
  return text(child.stdout)
}

/** Starts the chat in a terminal. */
async function startChat({ cwd, env }: { cwd: string; env: Record<string, string> }) {
  const terminal = await tmux(
    cwd,
    { columns: 90, rows: 30 },
    `${PROGRAM} agent chat ada; echo "left with $?"; cat`,
    env,
  )
  onTestFinished(() => terminal[Symbol.asyncDispose]())
  await terminal.shows(/^ada ›/m)
  return terminal
}

describe('messages of svc agent chat', () => {
  it('are the whole text of a pipe, divided by commands', async () => {
    const project = await startProject('', says('Read.'))
    expect(await pipeToChat('One\n\n  two\n/session\nThree\n/quit\nFour\n', project)).toMatch(
      /^Read\.\nsess-\w+\nRead\.\n$/,
    )
    expect(project.instructions()).toEqual(['One\n\n  two', 'Three'])
  })

  it.skipIf(!withTmux)('are the pasted lines at a terminal, sent with Enter or dropped with Ctrl-C', async () => {
    const project = await startProject('', says('Read.'))
    const terminal = await startChat(project)
    await terminal.paste('dropped\nlines')
    await terminal.shows(/^… lines/m)
    await terminal.type('C-c')
    await terminal.shows(/^ada › *$(?![\s\S]*ada)/m)
    await terminal.paste('one\n/tools\n\tthree\nfour')
    await terminal.shows(/^… four/m)
    expect(project.instructions()).toEqual([])
    await terminal.type(', five', 'Enter')
    await terminal.shows(/Read\.\nada ›/)
    expect(project.instructions()).toEqual(['one\n/tools\n\tthree\nfour, five'])
    await terminal.type('C-c')
    await terminal.shows(/left with 130/)
    // The terminal no longer marks pasted text.
    await terminal.paste('over')
    expect(await terminal.shows(/over/)).not.toContain('200~')
  })

  it.skipIf(!withTmux)('are lines that come at once, and those that a backslash continues', async () => {
    const project = await startProject('', says('Read.'))
    const terminal = await startChat(project)
    await terminal.send('one\rtwo\r')
    await terminal.shows(/Read\.\nada ›/)
    await terminal.type('three \\', 'Enter')
    await terminal.shows(/^… *$/m)
    await terminal.type('four', 'Enter')
    await until(() => project.instructions().length === 2)
    expect(project.instructions()).toEqual(['one\ntwo', 'three \nfour'])
  })

  it.skipIf(!withTmux)('typed during an answer are shown again after it, with the prompt', async () => {
    let answer = (_: Reply) => {}
    const first = new Promise<Reply>(resolve => {
      answer = resolve
    })
    const project = await startProject('', first, says('Written.'))
    const terminal = await startChat(project)
    await terminal.type('How many?', 'Enter')
    await until(() => project.instructions().length === 1)
    await terminal.type('And write it down', 'Enter')
    await terminal.shows(/^And write it down$/m)
    answer(says('Four.'))
    await terminal.shows(/^Four\.\nada › And write it down\nWritten\.\nada ›/m)
  })
})

describe('svc agent chat', () => {
  it('shows what was said with /history, and the notes of svc in the transcript', async () => {
    const project = await startProject('', toolCall('file_read', { path: 'notes.txt' }), says('It is four.'))
    const [, session, ...said] = (await pipeToChat('How many?\n/session\n/history\n', project)).split('\n')
    expect(said.slice(0, 2)).toEqual(['user: How many?', 'assistant: → file_read'])
    expect(said.slice(-2)).toEqual(['assistant: It is four.', ''])
    const { stdout } = await svc(['session', 'transcript', session!], project)
    expect(stdout).toMatch(/^user: How many\?\n\nnote: \[State when this message was sent/)
    expect(stdout).toMatch(/^assistant: → file_read\n\ntool: /m)
    const { stdout: sessions } = await svc(['sessions'], project)
    expect(sessions).toMatch(/^sess-\w+ {2}20[\d-]+T\S+Z {2}coder-\w+ .* \[chat\] How many\?$/m)
  })

  it('lists the tools that a chat has with /tools, and the goals of the agent with /goals', async () => {
    const project = await startProject('', says('Read.'))
    await svc(['goals', 'add', 'ada', 'Count', 'the', 'tides'], project)
    const listed = await pipeToChat('/tools\n/goals\n', project)
    expect(listed).toMatch(/^file_read {2}/m)
    expect(listed).toMatch(/^add_goal {2}/m)
    expect(listed).not.toMatch(/^(finish_goal|add_subgoals) /m)
    expect(listed).toMatch(/^goal-\w+ {2}active {2}Count the tides$/m)
  })

  it.skipIf(!withTmux)('shows the answer after an approval, above what is typed', async () => {
    const call = toolCall('shell_exec', { command: 'cat notes.txt' })
    const config = 'approval: { enabled: true, require_for: [shell_exec] }\n'
    const project = await startProject(config, call, says('It is four.'))
    const terminal = await startChat(project)
    await terminal.type('How many?', 'Enter')
    const page = await terminal.shows(/then shown in this chat/)
    await terminal.type('And n')
    const [, ap] = /svc approve (ap-\S+)/.exec(page)!
    const [, task] = /svc task follow (task-\w+)/.exec(page)!
    await svc(['approve', ap!], project)
    await svc(['task', 'resume', task!], project)
    await terminal.shows(/^To: How many\?\nIt is four\.\nada › And n$/m)
  })

  it.skipIf(!withTmux)('shows what waited when the chat was left, and its answer', async () => {
    const call = toolCall('shell_exec', { command: 'cat notes.txt' })
    const config = 'approval: { enabled: true, require_for: [shell_exec] }\n'
    const project = await startProject(config, call, says('It is four.'))
    await pipeToChat('How many?\n', project)
    const terminal = await startChat(project)
    const page = await terminal.shows(/then shown in this chat/)
    const [, ap] = /^To: How many\?\nwaiting_approval: decide with\n {2}svc approve (ap-\S+)/m.exec(page)!
    const [, task] = /svc task follow (task-\w+)/.exec(page)!
    await svc(['approve', ap!], project)
    await svc(['task', 'resume', task!], project)
    await terminal.shows(/^To: How many\?\nIt is four\.\nada ›/m)
  })
})
