import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import checkpoints from '#core/checkpoints/index'
import guardrails from '#safety/guardrails/index'
import {
  type ModelServer,
  type ModelServerRequest,
  runHeartbeat,
  type TestHost,
  text,
  toolCall,
} from '../../../support/index.ts'
import { pngOf } from '../../../support/png.ts'
import { finish, goalAnswer } from '../../safety/approvals-host.ts'
import { asksForGoal, goalsOf, rows, spawn, testHostWithModel } from '../models/model-host.ts'
import { PNG } from './pictures.ts'

const URL_OF_PNG = `data:image/png;base64,${PNG}`

const CAMERA = `
import { definePlugin, tool, withImages, z } from 'svc'
export default definePlugin({
  name: 'camera',
  setup(svc) {
    const shot = { data: Buffer.from('${PNG}', 'base64'), name: 'garden.png' }
    const bad = { data: '<svg/>', name: 'plan.svg' }
    const none = { data: undefined, name: 'none.png' }
    svc.toolkit({ name: 'camera', tools: [
      tool({ name: 'shoot', description: 'Takes a picture.', parameters: z.object({}), execute: () => withImages('The garden now.', shot, bad, none) }),
    ] })
  },
})
`

async function pursueGoal(home: TestHost, id: string): Promise<void> {
  for (let n = 0; n < 20; n++) {
    await runHeartbeat(home)
    if ((await goalsOf(home, id)).some(({ status }) => status === 'completed')) return
  }
  throw new Error('no goal was completed within 20 heartbeats')
}

/** Returns the last request that did not ask for a goal. */
const lastStep = ({ server }: { server: ModelServer }) => server.requests.findLast(request => !asksForGoal(request))!

/** A model that calls one tool in a pursuit, and then finishes. */
const calling = (name: string, args: object = {}) => {
  let step = 0
  return (request: ModelServerRequest) => {
    if (asksForGoal(request)) return goalAnswer(step === 0 ? 'Look around once' : '')
    return step++ === 0 ? toolCall(name, args) : finish('I saw it.')
  }
}

it("an image from a plugin's tool reaches the model, is stored once, and is a hash in the transcript", async () => {
  await using home = await testHostWithModel(calling('shoot'), { plugins: { 'camera.ts': CAMERA } })
  const id = await spawn(home)
  home.kernel.heartbeat.start()
  await pursueGoal(home, id)
  const { messages } = lastStep(home).body
  expect(home.server.refusals).toEqual([])
  expect(messages.find(({ role }) => role === 'tool')!.content).toMatch(
    /The garden now\.\n\[The image "plan\.svg" is not accepted: its data is not base64\.\]\n\[The image "none\.png" is not accepted: its data is neither a Uint8Array nor base64\.\]/,
  )
  expect(messages.at(-1)).toMatchObject({ role: 'user', images: [URL_OF_PNG] })
  expect(messages.at(-1)!.content).toContain('- "garden.png" of shoot')
  expect(await rows(home, 'SELECT width, height FROM images')).toEqual([{ width: 16, height: 8 }])
  const said = await rows<{ message: string }>(
    home,
    `SELECT message FROM goal_transcripts WHERE message LIKE '%images%'`,
  )
  expect(said).toHaveLength(1)
  expect(said[0]!.message).not.toContain(PNG.slice(0, 20))
  expect(JSON.parse(said[0]!.message).images[0]).toMatchObject({ name: 'garden.png', media_type: 'image/png' })
})

it('an image from a tool is withheld and named when guardrails check the results of tools', async () => {
  await using home = await testHostWithModel(calling('shoot'), {
    builtins: [guardrails],
    config: { guardrails: { enabled: true, stages: ['tool_result'] } },
    plugins: { 'camera.ts': CAMERA },
  })
  const id = await spawn(home)
  home.kernel.heartbeat.start()
  await pursueGoal(home, id)
  const result = lastStep(home).body.messages.find(({ role }) => role === 'tool')!.content
  expect(result).toContain(
    'The garden now.\n[The image "garden.png" was withheld: guardrails check the results of tools',
  )
  expect(home.server.requests.filter(({ body }) => body.messages.some(({ images }) => images?.length))).toEqual([])
  expect(await rows(home, 'SELECT * FROM images')).toEqual([])
})

it('file_read shows an image in the workspace, whatever its file name', async () => {
  await using home = await testHostWithModel(calling('file_read', { path: 'plan.txt' }))
  const id = await spawn(home)
  const workspace = join(home.root, '.svc/workspaces', id)
  await mkdir(workspace, { recursive: true })
  await writeFile(join(workspace, 'plan.txt'), pngOf(16, 8))
  home.kernel.heartbeat.start()
  await pursueGoal(home, id)
  const { messages } = lastStep(home).body
  expect(messages.find(({ role }) => role === 'tool')!.content).toBe('plan.txt is an image.')
  expect(messages.at(-1)).toMatchObject({ role: 'user', images: [URL_OF_PNG] })
})

it('a model without vision gets a description of the image', async () => {
  await using home = await testHostWithModel(calling('shoot'), {
    plugins: { 'camera.ts': CAMERA },
    files: { 'models.yaml': 'models: { "openai:scripted": { vision: false } }\n' },
    serving: { vision: false },
  })
  const id = await spawn(home)
  home.kernel.heartbeat.start()
  await pursueGoal(home, id)
  expect(home.server.refusals).toEqual([])
  expect(lastStep(home).prompt).toContain(
    '[Image "garden.png" (image/png, 16 × 8 pixels): this model cannot see images.]',
  )
})

it('an image sent to an idle agent is shown when it chooses a goal, and again when it pursues that goal', async () => {
  let goals = 0
  await using home = await testHostWithModel(request => {
    if (!asksForGoal(request)) return finish('Built.')
    return goalAnswer(request.prompt.includes('like this') && goals++ === 0 ? 'Build the page of the sketch' : '')
  })
  const id = await spawn(home)
  await home.kernel.invoke('agents.nudge', {
    id,
    message: 'Build a page like this',
    images: [{ data: PNG, name: 'sketch.png' }],
  })
  home.kernel.heartbeat.start()
  await pursueGoal(home, id)
  const shown = home.server.requests.filter(({ body }) =>
    body.messages.some(({ images = [] }) => images[0] === URL_OF_PNG),
  )
  expect(shown.map(request => asksForGoal(request))).toEqual([true, false])
  expect(shown[1]!.body.messages.find(({ images }) => images)!.content).toMatch(/^Goal: Build the page of the sketch/)
})

it('an image sent between two steps of a pursuit is shown in the next step', async () => {
  let home: Awaited<ReturnType<typeof testHostWithModel>>
  let id = ''
  let steps = 0
  await using opened = await testHostWithModel(async request => {
    if (asksForGoal(request)) return goalAnswer(steps === 0 ? 'Write notes for a while' : '')
    if (steps++ > 0) return request.prompt.includes('instead') ? finish('Seen.') : text('Going on.')
    await home.kernel.invoke('agents.nudge', { id, message: 'Draw this instead', images: [{ data: PNG }] })
    return toolCall('list_dir', {})
  })
  home = opened
  id = await spawn(home)
  home.kernel.heartbeat.start()
  await pursueGoal(home, id)
  const { messages } = home.server.requests.find(({ prompt }) => prompt.includes('instead'))!.body
  expect(messages.at(-1)).toMatchObject({ role: 'user', images: [URL_OF_PNG] })
})

it('an exported agent includes the images that it refers to', async () => {
  const options = { builtins: [checkpoints], roles: ['cli' as const] }
  await using home = await testHostWithModel(() => goalAnswer(''), options)
  const id = await spawn(home)
  await home.kernel.invoke('agents.nudge', { id, message: 'Look', images: [{ data: PNG }] })
  const bundle = await home.kernel.invoke('bundles.export', { id })
  await using other = await testHostWithModel(() => goalAnswer(''), options)
  await other.kernel.invoke('bundles.import', { bundle })
  expect(await rows(other, 'SELECT data FROM images')).toEqual([{ data: PNG }])
})
