import { describe, expect, it } from 'vitest'
import { tempDir } from '../../support/index.ts'
import { svc } from '../../support/vitest/warm.ts'

describe('messages on the command line', () => {
  it('can be sent, delegated, listed and read in threads; an unknown recipient is an error', {
    timeout: 120_000,
  }, async () => {
    await using dir = await tempDir()
    const cli = (...words: string[]) => svc(words, { cwd: dir.path })
    await cli('init')
    for (const preset of ['coder', 'reviewer']) expect((await cli('spawn', preset)).code).toBe(0)
    const sent = await cli('send', 'coder', '--type', 'query', 'Which', 'draft', 'is', 'newer?')
    expect([sent.code, sent.stdout.trim()]).toEqual([0, expect.stringMatching(/^msg-[0-9a-f]{12}$/)])
    const listed = await cli('messages', 'coder', '--json')
    expect(JSON.parse(listed.stdout)).toMatchObject([
      { type: 'query', body: 'Which draft is newer?', from_agent: 'operator' },
    ])
    expect((await cli('thread', sent.stdout.trim())).stdout).toContain('Which draft is newer?')
    const delegated = await cli('send', 'reviewer', '--type', 'delegate', 'Read the draft to its end.')
    expect(delegated.stdout).toMatch(/ack: Accepted as dlg-/)
    expect((await cli('delegations', 'reviewer')).stdout).toContain('pending')
    const begun = await cli('patterns', 'start', 'review', 'coder', 'reviewer', 'My', 'draft.', '--json')
    expect(JSON.parse(begun.stdout)).toMatchObject({ name: 'review', status: 'running', messages: 1 })
    expect((await cli('patterns')).stdout).toContain('swarm')
    expect((await cli('swarm')).stdout).toContain('policy: passive')
    expect((await cli('swarm', 'reports')).stdout.trim()).toBe('none')
    expect((await cli('specialization', 'coder')).stdout).toContain('good at no topic yet')
    expect((await cli('swarm', 'revert', 'swr-5')).stderr).toContain('There is no report "swr-5"')
    const refused = await cli('send', 'nobody', 'hello')
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('No agent has the id or name "nobody"')])
  })
})
