import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type CheckpointPart, CheckpointParts } from '#core/checkpoints/contract'
import { definePlugin, z } from '#kernel'
import { defineEffect, Effects } from '#platform/store/contract'
import { checkpointsOf, keeping, leaveTraces, standing } from '../spec/core/agents/checkpoints-host.ts'
import { detail, goalsOf, spawn } from '../spec/core/models/model-host.ts'
import type { TestHost } from '../support/index.ts'

const folder = ({ root }: TestHost, id: string) => join(root, '.svc/checkpoints', id)

async function two(home: TestHost) {
  const id = await spawn(home)
  await leaveTraces(home, id, 'bees')
  const first = await checkpointsOf(home).save(id, 'first')
  home.clock.jump(1000)
  const second = await checkpointsOf(home).save(id, 'second')
  return { id, first, second, file: join(folder(home, id), `${second}.json`) }
}

describe('a checkpoint file', () => {
  it.each([
    ['torn', (text: string) => text.slice(0, text.length / 2), /only a part/],
    ['empty', () => '', /only a part/],
    ['edited by hand', (text: string) => text.replace('bees', 'wasps'), /SHA-256/],
    ['something else', () => '{"format":"svc-agent"}', /not a file in the format svc-checkpoint/],
    ['of another agent', (text: string) => text, /contains a different checkpoint/],
  ])('that is %s is set aside, reported and never deleted, and the others are kept', async (how, damage, problem) => {
    await using home = await keeping()
    const { id, first, second, file } = await two(home)
    const text = damage(await fs.readFile(file, 'utf8'))
    await fs.writeFile(
      file,
      how === 'of another agent' ? await fs.readFile(join(folder(home, id), `${first}.json`)) : text,
    )
    const before = await standing(home, id)
    await expect(checkpointsOf(home).restore(id, second)).rejects.toMatchObject({
      code: 'checkpoint_unreadable',
      message: expect.stringMatching(problem),
    })
    expect(await standing(home, id)).toEqual(before)
    expect(home.logged('.corrupt')).toHaveLength(1)
    expect((await fs.readdir(folder(home, id))).sort()).toEqual([`${first}.json`, `${second}.json.corrupt`].sort())
    expect((await checkpointsOf(home).get(id, 'latest')).checkpoint_id).toBe(first)
  })

  it('that is damaged twice keeps both damaged versions', async () => {
    await using home = await keeping()
    const { id, second, file } = await two(home)
    for (const text of ['a', 'b']) {
      await fs.writeFile(file, text)
      await expect(checkpointsOf(home).get(id, second)).rejects.toThrow('the file was renamed to')
    }
    const corrupt = (await fs.readdir(folder(home, id))).filter(name => name.endsWith('.corrupt'))
    expect(await Promise.all(corrupt.sort().map(name => fs.readFile(join(folder(home, id), name), 'utf8')))).toEqual([
      'b',
      'a',
    ])
  })

  it('of an unknown version is refused, and stays where it is', async () => {
    await using home = await keeping()
    const { id, second, file } = await two(home)
    const newer = (await fs.readFile(file, 'utf8')).replace('"version":1', '"version":2')
    await fs.writeFile(file, newer)
    await expect(checkpointsOf(home).restore(id, second)).rejects.toThrow(
      /version 2, but this svc supports only versions up to 1; update svc/,
    )
    expect(await fs.readFile(file, 'utf8')).toBe(newer)
    expect(await checkpointsOf(home).list(id)).toHaveLength(1)
  })

  it('is not written at all on a full disk: the error says so, and nothing is restored without it', async () => {
    let full = false
    const open: typeof fs.open = async (...args) => {
      const handle = await fs.open(...args)
      if (full && String(args[0]).includes('/checkpoints/'))
        handle.writeFile = () => Promise.reject(Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' }))
      return handle
    }
    await using home = await keeping({ ports: { files: { ...fs, open } } })
    const { id, first } = await two(home)
    await home.kernel.invoke('goals.add', { id, objective: 'Stay' })
    full = true
    await expect(checkpointsOf(home).save(id, '')).rejects.toMatchObject({
      code: 'checkpoint_failed',
      message: expect.stringContaining('the disk is full'),
    })
    await expect(checkpointsOf(home).restore(id, first)).rejects.toMatchObject({ code: 'checkpoint_failed' })
    expect(await fs.readdir(folder(home, id))).toHaveLength(2)
    expect((await goalsOf(home, id)).map(({ status }) => status)).toEqual(['active', 'active'])
    expect((await detail(home, id)).status).toBe('idle')
    full = false
    await checkpointsOf(home).restore(id, first)
    expect((await goalsOf(home, id)).map(({ status }) => status)).toEqual(['abandoned', 'active'])
  })
})

describe('a restore', () => {
  /** Plugin whose part of a checkpoint fails as its value says. */
  const breaking = definePlugin({
    name: 'breaking',
    needs: ['store'],
    setup(svc) {
      const nothing = defineEffect({
        name: 'breaking.nothing',
        mustChange: true,
        schema: z.object({}),
        statements: () => [{ sql: "UPDATE agents SET name = name WHERE agent_id = 'nobody'" }],
      })
      svc.add(Effects, nothing.kind)
      const part: CheckpointPart<string> = {
        name: 'breaking',
        stage: 10,
        schema: z.string(),
        capture: async () => 'refused',
        async restore(_, value) {
          if (value === 'refused') return [nothing({})]
          throw new Error('it broke')
        },
      }
      svc.add(CheckpointParts, part as CheckpointPart)
    },
  })

  it('that fails in any module changes nothing in the others, and releases the agent', async () => {
    await using home = await keeping({ builtins: [breaking] })
    const { id, first } = await two(home)
    const broken = await checkpointsOf(home).save(id, '', undefined, undefined, { breaking: 'thrown' })
    await leaveTraces(home, id, 'wasps')
    const before = await standing(home, id)
    await expect(checkpointsOf(home).restore(id, first)).rejects.toMatchObject({ code: 'restore_interrupted' })
    await expect(checkpointsOf(home).restore(id, broken)).rejects.toThrow('it broke')
    expect(await standing(home, id)).toEqual(before)
    expect((await detail(home, id)).status).toBe('idle')
  })

  it('that runs twice at a time restores the agent completely, never in part', async () => {
    await using home = await keeping()
    const { id, first } = await two(home)
    const then = await checkpointsOf(home).get(id, first)
    await leaveTraces(home, id, 'wasps')
    const results = await Promise.allSettled([
      checkpointsOf(home).restore(id, first),
      checkpointsOf(home).restore(id, first),
    ])
    expect(results.some(({ status }) => status === 'fulfilled')).toBe(true)
    for (const result of results)
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'restore_interrupted' })
    expect(await standing(home, id)).toEqual(then.parts)
    expect((await detail(home, id)).status).toBe('idle')
  })
})
