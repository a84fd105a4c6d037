import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { goalsOf, spawn } from '../spec/core/models/model-host.ts'
import { runOf, testHostWithRecordings } from '../spec/observability/recordings-host.ts'
import { finish, numberedGoals } from '../spec/observability/runs-host.ts'
import { replayRecording, toolCall, until } from '../support/index.ts'
import { tempDir } from '../support/temp.ts'
import { svc } from '../support/vitest/warm.ts'

const GUIDE = fileURLToPath(new URL('../../docs/replay.md', import.meta.url))

const CALM = `import { definePlugin } from 'svc'
export default definePlugin({
  name: 'calm',
  description: 'No one finds a goal.',
  setup(svc) {
    svc.guard('goal_generation', { name: 'calm', shouldProceed: () => false })
  },
})
`

let dir: Awaited<ReturnType<typeof tempDir>>
let run: string

beforeAll(async () => {
  dir = await tempDir()
  await dir.write({ 'plugins/.keep': '' })
  // The recorded run: an agent, its goal, two calls of `remember`.
  await using home = await testHostWithRecordings(
    numberedGoals(
      toolCall('remember', { content: 'it was dark' }),
      toolCall('remember', { content: 'and cold' }),
      finish,
    ),
    { approval: { enabled: false } },
    { root: dir.path, builtins: [] },
  )
  await home.start()
  const agent = await spawn(home)
  await until(async () => (await goalsOf(home, agent)).some(goal => goal.status === 'completed'))
  await home.stop()
  run = await runOf(home)
})
afterAll(() => dir[Symbol.asyncDispose]())

/** Returns the commands that the guide shows, one a line. */
async function commands(): Promise<string[]> {
  const guide = await readFile(GUIDE, 'utf8')
  return [...guide.matchAll(/^```\n([^`]+)^```$/gm)].flatMap(([, block = '']) => block.trim().split('\n'))
}

test('every command of the replay guide does what the guide says', async () => {
  await dir.write({ 'plugins/calm.ts': CALM })
  let fork = ''
  const said: string[] = []
  for (const line of await commands()) {
    const words = line.replace('<run>', run).replace('<fork>', fork).split(' ').slice(1)
    const ran = await svc(words, { cwd: dir.path })
    expect(ran.code, `${line}\n${ran.stdout}\n${ran.stderr}`).toBe(0)
    fork = /forked as (\S+)/.exec(ran.stdout)?.[1] ?? fork
    said.push(ran.stdout)
  }
  const all = said.join('\n')
  expect(all).toContain(': identical (')
  expect(all).not.toContain('differs from the recording')
  expect(all).toMatch(/3 {2}worker-\S+ {2}cycle 2 {2}remember/)
  expect(all).toMatch(/identical for \d+ events/)
  // A saved recording is a test of its own.
  expect(await replayRecording(`${dir.path}/run.svcrec`)).toMatchObject({ same: true, divergence: null })
  // A changed recording fails where it differs from the run.
  const recording = gunzipSync(await readFile(`${dir.path}/run.svcrec`)).toString()
  await writeFile(`${dir.path}/other.svcrec`, gzipSync(recording.replace('it was dark', 'it was light')))
  const other = await svc(['replay', 'other.svcrec'], { cwd: dir.path })
  expect(other.code, other.stdout).toBe(1)
  expect(other.stdout).toMatch(/differs from the recording\nwhere {5}worker-\S+, cycle \d+, after step \d/)
}, 300_000)

test('a damaged recording, a run without one, and a model without a step are refused with the reason', async () => {
  await dir.write({ 'bad.svcrec': 'no recording' })
  const useless = await svc(['replay', run, '--model', 'sim'], { cwd: dir.path })
  expect(useless).toMatchObject({ code: 2 })
  expect(useless.stderr).toContain('the step at which to fork the run')
  await expect(replayRecording(`${dir.path}/bad.svcrec`)).rejects.toThrow(
    'the file is not a recording, or it is damaged',
  )
  await expect(replayRecording('run-20200101-000000-abcdef')).rejects.toThrow('There is no recording of the run')
})
