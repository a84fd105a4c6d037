import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { definePlugin } from '#kernel'
import { Copyables } from '#tools/toolkits/clipboard/contract'
import clipboard from '#tools/toolkits/clipboard/index'
import knowledge from '#tools/toolkits/knowledge/index'
import links from '#tools/toolkits/links/index'
import { tempDir } from '../../../support/index.ts'
import { use } from '../../use.ts'
import { remembering } from './memory-host.ts'

describe('a clipboard', () => {
  it('belongs to one agent, holds the last text, and survives restarts', async () => {
    await using home = await remembering([clipboard])
    expect(await use(home, 'read_clipboard')).toBe('[The clipboard is empty.]')
    expect(await use(home, 'copy_to_clipboard', { text: '1' })).toBe('Copied 1 character to your clipboard.')
    expect(await use(home, 'copy_to_clipboard', { text: 'second' })).toBe('Copied 6 characters to your clipboard.')
    expect(await use(home, 'read_clipboard', {}, { agent_id: 'worker-2' })).toBe('[The clipboard is empty.]')
    await using again = await remembering([clipboard], { root: home.root })
    expect(await use(again, 'read_clipboard')).toBe('second')
    expect((await stat(join(home.root, '.svc/memory/worker-1/clipboard.json'))).mode & 0o777).toBe(0o600)
  })

  it('returns long texts in parts, and never splits a character', async () => {
    await using home = await remembering([clipboard])
    const text = `x${'🐈'.repeat(12_000)}`
    await use(home, 'copy_to_clipboard', { text })
    const seen: string[] = []
    for (let offset: number | undefined = 0; offset !== undefined; ) {
      const part = await use(home, 'read_clipboard', { offset })
      seen.push(part.replace(/\n\[\d+ more characters.*\]$/, ''))
      const next = /read on with offset=(\d+)/.exec(part)?.[1]
      offset = next === undefined ? undefined : Number(next)
    }
    expect(seen).toHaveLength(3)
    expect(seen.join('|')).not.toMatch(/[\ud800-\udbff](?![\udc00-\udfff])/)
    expect(seen.join('')).toBe(text)
    expect(await use(home, 'read_clipboard', { offset: 99_999 })).toContain('The text ends before this offset')
  })

  it('copies notes, links and the records of other toolkits by their ids', async () => {
    const tasks = definePlugin({
      name: 'tasks-of-another',
      setup: svc =>
        void svc.add(Copyables, {
          name: 'task',
          text: async (agent_id, id) => (id === '7' && agent_id === 'worker-1' ? 'Water the plants' : undefined),
        }),
    })
    await using home = await remembering([clipboard, knowledge, links, tasks])
    const idIn = (text: string) => /mem-\w+/.exec(text)?.[0] ?? ''
    const note_id = idIn(await use(home, 'save_note', { content: 'The whole note' }))
    const link_id = idIn(await use(home, 'save_link', { url: 'https://example.org/docs' }))
    const copyAndPaste = async (name: string, args: Record<string, string>) => {
      await use(home, name, args)
      return use(home, 'read_clipboard')
    }
    expect(await copyAndPaste('copy_note', { note_id })).toBe('The whole note')
    expect(await copyAndPaste('copy_link', { link_id })).toBe('https://example.org/docs')
    expect(await copyAndPaste('copy_task', { task_id: '7' })).toBe('Water the plants')
    expect(await use(home, 'copy_task', { task_id: '8' })).toBe('[You have no task "8"; list_tasks shows the ids.]')
    expect(await use(home, 'copy_note', { note_id: link_id })).toContain('You have no note')
    expect(await use(home, 'read_clipboard')).toBe('Water the plants')
    await using alone = await remembering([clipboard])
    expect(await use(alone, 'copy_task', { task_id: '7' })).toContain('No task can be copied')
  })
})

describe("the machine's clipboard", () => {
  const config = { tools: { host_clipboard: true } }

  it('is used only with tools.host_clipboard, and its program gets no secrets in the environment', async () => {
    await using programs = await tempDir()
    // Stands in for the system program: saves its input and its environment in files.
    const script = `#!/bin/sh\nenv > ${programs.path}/env\ncase "$*" in *-o) cat ${programs.path}/kept;; *) cat > ${programs.path}/kept;; esac\n`
    await mkdir(join(programs.path, 'bin'))
    await writeFile(join(programs.path, 'bin/xclip'), script, { mode: 0o700 })
    const env = { PATH: `${programs.path}/bin:/usr/bin:/bin`, DISPLAY: ':0', OPENAI_API_KEY: 'a-secret' }
    await using own = await remembering([clipboard], { env, clock: 'system' })
    await use(own, 'copy_to_clipboard', { text: 'mine' })
    await expect(stat(join(programs.path, 'kept'))).rejects.toThrow('ENOENT')

    await using home = await remembering([clipboard], { config, env, clock: 'system' })
    expect(await use(home, 'copy_to_clipboard', { text: 'größer' })).toContain("to the machine's clipboard")
    expect(await readFile(join(programs.path, 'kept'), 'utf8')).toBe('größer')
    await writeFile(join(programs.path, 'kept'), 'what a person copied')
    expect(await use(home, 'read_clipboard', {}, { agent_id: 'worker-2' })).toBe('what a person copied')
    const seen = await readFile(join(programs.path, 'env'), 'utf8')
    expect(seen).toContain('DISPLAY=:0')
    expect(seen).not.toContain('a-secret')
  })

  it('returns an error with the cause when it cannot be reached', async () => {
    await using home = await remembering([clipboard], { config, env: { PATH: '/nowhere' }, clock: 'system' })
    for (const [name, args] of [
      ['read_clipboard', {}],
      ['copy_to_clipboard', { text: 'x' }],
    ] as const)
      expect(await use(home, name, args)).toBe(
        "error: The machine's clipboard cannot be reached: xclip is not installed.",
      )
  })
})
