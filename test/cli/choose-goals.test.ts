import { expect, it } from 'vitest'
import { svc } from '../support/vitest/warm.ts'
import { tmux, withTmux } from './daemon/tmux.ts'
import { project } from './project.ts'

const PROGRAM = new URL('../../dist/svc.js', import.meta.url).pathname
const SIZE = { columns: 120, rows: 40 }

async function withGoals() {
  const dir = await project()
  const options = { cwd: dir.path }
  for (const preset of ['coder', 'writer']) await svc(['spawn', preset], options)
  for (const goal of ['Write the parser', 'Test the parser']) await svc(['goals', 'add', 'coder', goal], options)
  await svc(['goals', 'add', 'writer', 'Write a poem'], options)
  const active = async () => {
    const lists = ['coder', 'writer'].map(async name =>
      JSON.parse((await svc(['goals', name, '--json'], options)).stdout),
    )
    const goals = (await Promise.all(lists)).flat() as { objective: string; status: string }[]
    return goals.filter(({ status }) => status === 'active').map(({ objective }) => objective)
  }
  return { dir, options, active }
}

it.runIf(withTmux)('svc goals abandon lets a person choose goals at a terminal: by numbers, none, or all', async () => {
  const { dir, active } = await withGoals()
  await using _dir = dir
  const command = `SVC_TRUST_PROJECT=true ${process.execPath} ${PROGRAM} goals abandon; echo "exit $?"; cat`
  {
    await using terminal = await tmux(dir.path, SIZE, command)
    const page = await terminal.shows(/Enter cancels\)/)
    expect(page).toMatch(
      /^coder-\w+\n +1 {2}goal-\w+ {2}.* the parser\n +2 .*\nwriter-\w+\n +3 {2}goal-\w+ {2}Write a poem$/m,
    )
    await terminal.type('4', 'Enter')
    await terminal.shows(/"4" is not in the list: answer with numbers from 1 to 3, or all\./)
    await terminal.type('1,3', 'Enter')
    await terminal.shows(/goal-\w+: abandoned\ngoal-\w+: abandoned\nexit 0/)
  }
  expect(await active()).toHaveLength(1)
  for (const [key, exit] of [
    ['Enter', 0],
    ['C-c', 130],
  ] as const) {
    await using terminal = await tmux(dir.path, SIZE, command)
    await terminal.shows(/Enter cancels\)/)
    await terminal.type(key)
    await terminal.shows(new RegExp(`exit ${exit}`))
    expect(await active()).toHaveLength(1)
  }
  await using terminal = await tmux(dir.path, SIZE, command)
  await terminal.shows(/Enter cancels\)/)
  await terminal.type('all', 'Enter')
  await terminal.shows(/exit 0/)
  expect(await active()).toEqual([])
})

it('svc goals abandon without a terminal exits with 2 and names the options', async () => {
  const { dir, options, active } = await withGoals()
  await using _dir = dir
  const { code, stderr } = await svc(['goals', 'abandon'], options)
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('--agent') })
  expect(await active()).toHaveLength(3)
})
