import { expect, it } from 'vitest'
import { definePlugin, ServiceMissingError, token } from '#kernel'
import { testHost } from '../support/index.ts'

const Greeting = token<{ text: string }>('greeting')

it('a consumer always gets the newest provider, and the one before it when that is removed', async () => {
  const provider = (name: string) =>
    definePlugin({ name, setup: svc => void svc.provide(Greeting, { text: `hello from ${name}` }) })
  await using home = await testHost({ builtins: [provider('first')] })
  const { host } = home.kernel
  const greeting = () => home.kernel.use(Greeting).text
  expect(greeting()).toBe('hello from first')
  await host.add(provider('second'))
  expect(greeting()).toBe('hello from second')
  await host.add(provider('third'))
  await host.remove('second')
  expect(greeting()).toBe('hello from third')
  await host.remove('third')
  expect(greeting()).toBe('hello from first')
})

it('a service that no plugin provides is named in the error', async () => {
  await using home = await testHost()
  expect(home.kernel.services.has(Greeting)).toBe(false)
  expect(() => home.kernel.use(Greeting)).toThrow(ServiceMissingError)
  expect(() => home.kernel.use(Greeting)).toThrow('No plugin provides the service "greeting"')
})
