import { expect, it } from 'vitest'
import {
  definePlugin,
  InvalidInputError,
  type OperationCall,
  Operations,
  operation,
  type PluginHandle,
  token,
  UnknownOperationError,
  z,
} from '#kernel'
import { testHost } from '../support/index.ts'

const calls: unknown[] = []
const greeter = definePlugin({
  name: 'greeter',
  setup(svc) {
    svc.operation({
      name: 'greeter.greet',
      summary: 'Greets someone.',
      input: z.strictObject({ name: z.string().min(1), times: z.number().int().default(1) }),
      output: z.object({ text: z.string() }),
      run({ name, times }, call) {
        calls.push({ via: call.via, tenant: call.tenant, request_id: call.request_id })
        return { text: `hello ${name}`.repeat(times), secret: 'not in the schema' }
      },
    })
    svc.operation({
      name: 'greeter.fail',
      summary: 'Answers something else than it promised.',
      input: z.object({}),
      output: z.object({ text: z.string() }),
      run: () => ({ text: 7 as unknown as string }),
    })
  },
})

it('an operation gets its parsed input with defaults, and its answer is limited to its schema', async () => {
  await using home = await testHost({ builtins: [greeter] })
  await expect(home.kernel.invoke('greeter.greet', { name: 'ada' })).resolves.toEqual({ text: 'hello ada' })
  await home.kernel.invoke('greeter.greet', { name: 'ada' }, { via: 'rest', tenant: 'acme' })
  expect(calls).toMatchObject([
    { via: 'code', tenant: 'default', request_id: expect.stringMatching(/^req-[0-9a-f]{12}$/) },
    { via: 'rest', tenant: 'acme' },
  ])
})

it('invalid input is refused with every field named, before anything runs', async () => {
  await using home = await testHost({ builtins: [greeter] })
  const before = calls.length
  const error = await home.kernel.invoke('greeter.greet', { times: 'x', extra: 1 }).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(InvalidInputError)
  const { errors, status, exit, message } = error as InstanceType<typeof InvalidInputError>
  expect(errors.map(({ path }) => path).sort()).toEqual(['extra', 'name', 'times'])
  expect({ status, exit }).toEqual({ status: 422, exit: 2 })
  expect(message).toMatch(/^The request is not valid: name: .*extra: is not a known field/)
  await expect(home.kernel.invoke('greeter.greet', null)).rejects.toBeInstanceOf(InvalidInputError)
  expect(calls).toHaveLength(before)
})

it("an answer that violates the operation's own schema is not returned", async () => {
  await using home = await testHost({ builtins: [greeter] })
  await expect(home.kernel.invoke('greeter.fail')).rejects.toThrow()
})

it('an unknown operation is named, also after its plugin was removed', async () => {
  await using home = await testHost({ builtins: [greeter] })
  await home.kernel.host.remove('greeter')
  await expect(home.kernel.invoke('greeter.greet', { name: 'ada' })).rejects.toBeInstanceOf(UnknownOperationError)
  await expect(home.kernel.invoke('greeter.greet')).rejects.toThrow(
    'There is no operation "greeter.greet"; docs/reference/rest.md lists them.',
  )
})

const noCall = {} as OperationCall

it('an operation that several plugins register runs and counts with the handle of each plugin', async () => {
  const Size = token<number>('size/own')
  const sizeShow = operation({
    name: 'size.show',
    summary: 'Show the size',
    input: z.object({}),
    output: z.string(),
    run: (_, { svc, request_id }) => `${svc.name} ${svc.use(Size)} ${request_id}`,
    count: (_, { svc }) => svc.use(Size),
  })
  const setup = (size: number) => (svc: PluginHandle) => {
    svc.provide(Size, size)
    svc.operation(sizeShow)
  }
  await using small = await testHost({ builtins: [definePlugin({ name: 'small', setup: setup(1) })] })
  await using large = await testHost({ builtins: [definePlugin({ name: 'large', setup: setup(9) })] })
  const shown = [small, large].map(({ kernel }) => kernel.invoke('size.show', {}, { request_id: 'req-1' }))
  expect(await Promise.all(shown)).toEqual(['small 1 req-1', 'large 9 req-1'])
  const counts = [small, large].map(({ kernel }) => kernel.points.find(Operations, 'size.show')?.count?.({}, noCall))
  expect(counts).toEqual([1, 9])
})
