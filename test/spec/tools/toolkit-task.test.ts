import { expect, it } from 'vitest'
import { Operations } from '#kernel'
import task from '#tools/toolkits/task/index'
import { testHostWithTools } from './toolkit-host.ts'

const idIn = (text: string) => /task-[0-9a-f]{8}/.exec(text)?.[0] as string

it('an agent creates, lists by priority, changes, completes, reopens and deletes tasks', async () => {
  await using home = await testHostWithTools([task])
  const low = idIn(await home.use('create_task', { description: 'Dust the shelves', priority: 'low' }))
  const high = idIn(await home.use('create_task', { description: 'Fix the build', priority: 'high', due: 'tonight' }))
  const plain = idIn(await home.use('create_task', { description: 'Read the mail' }))
  expect(await home.use('list_tasks')).toBe(
    `${high}  [high] (due tonight)  Fix the build\n${plain}  [medium]  Read the mail\n${low}  [low]  Dust the shelves`,
  )
  expect(await home.use('list_tasks', { priority: 'low' })).toBe(`${low}  [low]  Dust the shelves`)
  expect(await home.use('complete_task', { task_id: high })).toBe(`${high} is done.`)
  expect(await home.use('list_tasks', { status: 'done' })).toBe(`${high}  [high, done] (due tonight)  Fix the build`)
  await home.use('uncomplete_task', { task_id: high })
  await home.use('update_task', { task_id: high, description: 'Fix the other build', due: '' })
  expect(await home.use('list_tasks', { priority: 'high' })).toBe(`${high}  [high]  Fix the other build`)
  for (const task_id of [low, high, plain]) await home.use('delete_task', { task_id })
  expect(await home.use('list_tasks', { status: 'all' })).toBe('[There are no such tasks.]')
})

it.each(['complete_task', 'uncomplete_task', 'delete_task', 'update_task'])(
  "%s does not reach another agent's task",
  async name => {
    await using home = await testHostWithTools([task])
    const task_id = idIn(await home.use('create_task', { description: 'Fix the build' }))
    const said = await home.use(name, { task_id, priority: 'low' }, home.ids[1])
    expect(said).toBe(`error: You have no task "${task_id}"; list yours with list_tasks.`)
    expect(await home.use('list_tasks', { status: 'all' })).toBe(`${task_id}  [medium]  Fix the build`)
    expect(await home.use('list_tasks', { status: 'all' }, home.ids[1])).toBe('[There are no such tasks.]')
  },
)

it('update_task requires at least one field to change', async () => {
  await using home = await testHostWithTools([task])
  const task_id = idIn(await home.use('create_task', { description: 'Fix the build' }))
  expect(await home.use('update_task', { task_id })).toBe('error: give at least one of description, priority and due')
})

it.each([{}, { description: '' }, { description: 'x', priority: 'urgent' }, { description: 'x'.repeat(1001) }])(
  'create_task refuses %j',
  async args => {
    await using home = await testHostWithTools([task])
    expect(await home.use('create_task', args)).toMatch(/^error: /)
  },
)

it('a long list of tasks is cut off, and says how to see the rest', async () => {
  await using home = await testHostWithTools([task])
  for (let n = 0; n < 101; n++) await home.use('create_task', { description: `Task ${n}` })
  const lines = (await home.use('list_tasks')).split('\n')
  expect(lines).toHaveLength(101)
  expect(lines.at(-1)).toBe('[There are more than 100; ask for one priority or status.]')
})

it('the operator lists the tasks of all agents or of one, and marks them as done', async () => {
  await using home = await testHostWithTools([task])
  const [first, second] = home.ids
  const low = idIn(await home.use('create_task', { description: 'Dust the shelves', priority: 'low' }))
  const high = idIn(await home.use('create_task', { description: 'Fix\nthe build', priority: 'high' }, second))
  const ask = async (name: string, input: object) => home.kernel.invoke(name, input) as Promise<unknown>
  expect(await ask('todos.list', {})).toMatchObject([
    { todo_id: high, agent_id: second, priority: 'high', status: 'pending', completed_at: null },
    { todo_id: low, agent_id: first, description: 'Dust the shelves', due: null },
  ])
  expect(await ask('todos.list', { agent: first, limit: 5 })).toMatchObject([{ todo_id: low }])
  const done = await ask('todos.mark', { todo_id: high, status: 'done' })
  expect(done).toMatchObject({ status: 'done', completed_at: expect.stringMatching(/Z$/) })
  expect(await ask('todos.list', { status: 'all', offset: 1 })).toMatchObject([{ todo_id: low }])
  expect(await home.use('list_tasks', {}, second)).toBe('[There are no such tasks.]')
  expect(await ask('todos.mark', { todo_id: high, status: 'pending' })).toMatchObject({ completed_at: null })
  await expect(ask('todos.mark', { todo_id: 'task-none', status: 'done' })).rejects.toMatchObject({ status: 404 })
  const { render } = home.kernel.points.find(Operations, 'todos.list')!
  expect(render?.((await ask('todos.list', {})) as never)).toBe(
    `· ${high}  ${second}  high\n    Fix the build\n· ${low}  ${first}  low\n    Dust the shelves`,
  )
})
