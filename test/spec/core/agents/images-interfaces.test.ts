import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { project } from '../../../cli/project.ts'
import { modelServer, text, toolCall } from '../../../support/index.ts'
import { pngOf } from '../../../support/png.ts'
import { svc } from '../../../support/vitest/warm.ts'
import { startTaskServer } from '../tasks/tasks-server.ts'
import { JPEG, PNG } from './pictures.ts'

const URL_OF_PNG = `data:image/png;base64,${PNG}`
const picture = { data: PNG, name: 'car.png' }

it('a task over HTTP shows its images to the model, also in later tasks of its session and in its transcript', async () => {
  const { model, id, post, ask } = await startTaskServer(() => text('A red car.'))
  const body = { instruction: 'What is this?', images: [picture], session_key: 'cars' }
  const { status, json } = await post(`/agents/${id}/tasks`, body)
  expect([status, json.status]).toEqual([200, 'completed'])
  expect(model.requests[0]!.body.messages.at(-1)).toMatchObject({
    content: expect.stringMatching(/\n\nWhat is this\?$/),
    images: [URL_OF_PNG],
  })
  await post(`/agents/${id}/tasks`, { instruction: 'Which colour?', session_key: 'cars' })
  expect(model.requests[1]!.body.messages.slice(-3)).toMatchObject([
    { content: expect.stringMatching(/\n\nWhat is this\?$/), images: [URL_OF_PNG] },
    { content: 'A red car.' },
    { content: 'Which colour?' },
  ])
  const { json: transcript } = await ask(`/sessions/${json.session_id}/transcript`)
  const [image] = transcript[0].images
  expect(image).toMatchObject({ name: 'car.png', media_type: 'image/png', width: 16, height: 8 })
  expect((await ask(`/tasks/${json.task_id}`)).json.images).toEqual([image])
  const kept = await ask(`/images/${image.sha256}`)
  expect(kept.json).toMatchObject({ sha256: image.sha256, media_type: 'image/png', data: PNG })
  expect((await ask(`/images/${'0'.repeat(64)}`)).json).toMatchObject({ code: 'image_not_found', status: 404 })
})

it('a file that is no image, too many images and a request that is too large are refused over HTTP', async () => {
  const { id, post } = await startTaskServer(() => text('Never asked.'))
  const nudge = (images: unknown, message = 'Look') => post(`/agents/${id}/nudge`, { message, images })
  const svg = { data: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>').toString('base64'), name: 'car.png' }
  expect((await nudge([svg])).json).toMatchObject({
    status: 422,
    code: 'image_refused',
    detail:
      'The image "car.png" is not accepted: it is an SVG; convert it to one of image/png, image/jpeg, image/webp.',
  })
  expect((await nudge(Array(5).fill(picture))).json).toMatchObject({ status: 422, code: 'invalid_input' })
  expect((await nudge([{ data: '?' }])).json).toMatchObject({ status: 422, code: 'invalid_input' })
  const large = Buffer.alloc(17 * 1024 * 1024).toString('base64')
  expect((await nudge([{ data: large }])).json).toMatchObject({
    status: 413,
    detail: 'The body is larger than 16 MiB.',
  })
  expect((await nudge([picture], 'x'.repeat(4_001))).status).toBe(422)
  expect((await nudge([picture, { data: JPEG }])).status).toBe(202)
  const elsewhere = await post('/agents', { preset: 'x'.repeat(2 * 1024 * 1024) })
  expect(elsewhere.json).toMatchObject({ status: 413, detail: 'The body is larger than 1 MiB.' })
})

it('svc run and svc nudge send the images that --image names', async () => {
  await using model = await modelServer({
    script: ({ prompt }) => (prompt.includes('What') ? text('A car.') : toolCall('none')),
  })
  const yaml = 'name: worker\nrole: looks\nmax_steps: 3\n'
  await using dir = await project({ 'profiles/worker.yaml': yaml, 'note.txt': 'no image' })
  await writeFile(join(dir.path, 'car.png'), pngOf(16, 8))
  const env = { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'k', OPENAI_MODEL: 'scripted' }
  const run = (...words: string[]) => svc(words, { cwd: dir.path, env })
  const { stdout } = await run('spawn', 'worker', '--json')
  const { agent_id } = JSON.parse(stdout)
  const ran = await run('run', agent_id, 'What is this?', '--image', 'car.png', '--image', 'car.png')
  expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining('A car.') })
  expect(model.requests[0]!.body.messages.at(-1)!.images).toEqual([URL_OF_PNG, URL_OF_PNG])
  const nudged = await run('nudge', agent_id, 'Look', '--image', 'car.png')
  expect(nudged).toMatchObject({ code: 0, stdout: expect.stringMatching(/^nudge-/) })
  expect(await run('nudge', agent_id, 'Look', '--image', 'note.txt')).toMatchObject({
    code: expect.toSatisfy(code => code !== 0),
    stderr: expect.stringContaining('The image "note.txt" is not accepted: it is not an image of a known format'),
  })
  expect((await run('nudge', agent_id, 'Look', '--image', 'none.png')).stderr).toMatch(/--image: .*none\.png/)
  expect((await run('nudge', '--help')).stdout).toContain('--image <file, repeatable>')
})
