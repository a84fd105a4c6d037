import { expect, it } from 'vitest'
import checkpoints from '../../builtins/checkpoints/index.ts'
import checkpoint from '../../builtins/toolkits/checkpoint/index.ts'
import { tooled } from './toolkit-house.ts'

const ROOMS = [checkpoints, checkpoint]

it('an agent keeps itself as it stands, and sees what has changed in it since', async () => {
  await using home = await tooled(ROOMS)
  const [id] = home.ids
  expect(await home.use('list_checkpoints', {})).toBe('There are none; save_checkpoint makes one.')
  expect(await home.use('compare_checkpoint', {})).toMatch(/^error: .*latest/)
  const kept = await home.use('save_checkpoint', { label: 'before the storm' })
  const checkpoint_id = /ckpt-\w+/.exec(kept)![0]
  expect(kept).toBe(`Kept as ${checkpoint_id}. The operator can bring you back to it.`)
  expect(await home.use('list_checkpoints', {})).toMatch(new RegExp(`^- ${checkpoint_id} .* before the storm$`))
  expect(await home.use('compare_checkpoint', { checkpoint_id })).toMatch(/^Nothing has changed since /)
  await home.kernel.invoke('goals.add', { id: id!, objective: 'Close the shutters' })
  expect(await home.use('compare_checkpoint', {})).toMatch(
    /^Since .* \(before the storm\):\n- \/goals.*Close the shutters.*was null$/,
  )
})

it("another agent's checkpoints are not there for it", async () => {
  await using home = await tooled(ROOMS)
  const [, other] = home.ids
  const kept = await home.use('save_checkpoint', { label: 'mine' })
  expect(await home.use('list_checkpoints', {}, other)).toBe('There are none; save_checkpoint makes one.')
  const { 0: checkpoint_id } = /ckpt-\w+/.exec(kept)!
  expect(await home.use('compare_checkpoint', { checkpoint_id }, other)).toMatch(/^error: /)
})
