import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import models from '#core/models/index'
import type { ModelsOverview } from '#core/models/overview'
import { renderModels } from '#core/models/render'
import store from '#platform/store/index'
import { type ModelServerRequest, refuse, tempDir, text } from '../../../support/index.ts'
import { QUICK, testHostForModels } from './models-host.ts'

const WINDOW = 4_000
const LONG = 'It was a long day, and much was said of it. '.repeat(1_500)
const TOOL = { name: 'look', description: 'Look around.', parameters: { type: 'object', properties: {} } }

/** Refuses a temperature, tools, and prompts beyond a small window. */
function picky({ body, prompt }: ModelServerRequest) {
  if ('temperature' in body) return refuse(400, "Unsupported parameter: 'temperature' is not supported")
  if (body.tools) return refuse(400, 'this model does not support tools')
  if (prompt.length > WINDOW * 4) return refuse(400, `This model's maximum context length is ${WINDOW} tokens`)
  return text('Done.')
}

/** Returns a function that opens the same project again and again. */
async function projectOf(script: (request: ModelServerRequest) => ReturnType<typeof picky>) {
  const dir = await tempDir()
  onTestFinished(() => dir[Symbol.asyncDispose]())
  let port: number | undefined
  const open = async (files: Record<string, string> = {}) => {
    for (const [path, content] of Object.entries(files)) await writeFile(join(dir.path, path), content)
    const opened = await testHostForModels(
      script,
      { root: dir.path, builtins: [store, models], config: QUICK },
      port === undefined ? {} : { port },
    )
    port = Number(new URL(opened.server.url).port)
    const ask = () => opened.call({ messages: [{ role: 'user', content: LONG }], tools: [TOOL] })
    const close = async () => {
      await opened.host.close()
      await opened.server.close()
    }
    const invoke = <T>(name: string, input: object = {}) => opened.host.kernel.invoke(name, input) as Promise<T>
    return { ...opened, ask, close, invoke, move: () => (port = undefined) }
  }
  return open
}

test('what refusals taught about a model is known after a restart, and svc models shows it', async () => {
  const open = await projectOf(picky)
  const first = await open()
  await first.ask()
  expect(first.server.requests).toHaveLength(4)
  await first.close()

  const second = await open()
  await second.ask()
  expect(second.server.requests).toHaveLength(1)
  const overview = await second.invoke<ModelsOverview>('models.list')
  expect(overview.learned).toMatchObject([
    {
      model: 'openai:scripted-1',
      endpoint: second.server.url,
      context_window: WINDOW,
      omitted: ['temperature'],
      lacks: ['tools'],
    },
  ])
  expect(renderModels(overview)).toMatch(
    /Learned from refusals: openai:scripted-1 at .*4,000 tokens; it does not accept temperature; its server does not support tools \(svc models forget openai:scripted-1\)/,
  )
})

test('what was learned is forgotten by svc models forget, at another address, and when the model is reconfigured', async () => {
  const open = await projectOf(picky)
  const first = await open()
  await first.ask()
  await first.close()

  const configured = await open({ 'models.yaml': 'models: { "openai:scripted-1": { max_output_tokens: 500 } }\n' })
  await configured.ask()
  expect(configured.server.requests).toHaveLength(4)
  await configured.close()

  const known = await open()
  await known.ask()
  expect(known.server.requests).toHaveLength(1)
  expect(await known.invoke('models.forget', { model: 'openai:scripted-1' })).toMatchObject([
    { context_window: WINDOW },
  ])
  await known.ask()
  expect(known.server.requests).toHaveLength(5)
  expect(await known.invoke('models.forget', { model: 'openai:other' })).toEqual([])
  known.move()
  await known.close()

  const moved = await open()
  await moved.ask()
  expect(moved.server.requests).toHaveLength(4)
})

test('missing tool support is remembered after a restart, and calls are read from the text', async () => {
  const open = await projectOf(request =>
    request.body.tools ? refuse(400, 'this model does not support tools') : text('{"name": "look", "arguments": {}}'),
  )
  const first = await open()
  expect((await first.ask()).tool_calls).toMatchObject([{ name: 'look' }])
  await first.close()
  const second = await open()
  expect((await second.ask()).tool_calls).toMatchObject([{ name: 'look' }])
  expect(second.server.requests).toHaveLength(1)
})
