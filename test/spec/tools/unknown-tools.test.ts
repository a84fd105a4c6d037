import { describe, expect, it } from 'vitest'
import { project } from '../../cli/project.ts'
import { RunningSvc } from '../../support/cli.ts'
import { svc } from '../../support/vitest/warm.ts'

const PLUGIN = `import { definePlugin, tool, z } from 'svc'
export default definePlugin({ name: 'dice', setup(svc) {
  svc.toolkit({ name: 'dice', tools: [tool({ name: 'roll', description: 'Rolls.', parameters: z.object({}), execute: () => 4 })] })
} })`
const PROFILE = `role: plays
toolkits:
  - fil
  - dice
  - mcp
  - plugins
tools: [file_raed, roll, finish_goal]
`
const CONFIG = `tasks:
  toolkits: [memory, memry]
tools:
  sub_agent_toolkits: [shel]
mcp:
  servers:
    books: { command: "true" }
`
const FILES = { 'profiles/player.yaml': PROFILE, '.svc/config.yaml': CONFIG }

/** Warnings for these files when the plugin is loaded. */
const FAULTS = [
  'profiles/player.yaml:3: toolkits names the toolkit "fil", which does not exist; did you mean "file"?',
  'profiles/player.yaml:7: tools names the tool "file_raed", which does not exist; did you mean "file_read"?',
  'tasks.toolkits: names the toolkit "memry", which does not exist; did you mean "memory"?',
  'tools.sub_agent_toolkits: names the toolkit "shel", which does not exist; did you mean "shell"?',
]

describe('an unknown tool or toolkit', () => {
  it('is reported as a warning by svc config validate and svc doctor', async () => {
    await using dir = await project({ ...FILES, 'plugins/dice.ts': PLUGIN })
    const run = (...words: string[]) => svc(words, { cwd: dir.path })
    const { code, stdout } = await run('config', 'validate')
    expect(code).toBe(1)
    for (const fault of FAULTS) expect(stdout).toContain(fault)
    for (const known of ['"dice"', '"roll"', '"mcp"', '"plugins"', '"finish_goal"']) expect(stdout).not.toContain(known)
    const { faults } = JSON.parse((await run('config', 'validate', '--json')).stdout)
    expect(faults).toHaveLength(FAULTS.length)

    await using daemon = new RunningSvc(['start'], { cwd: dir.path })
    await daemon.waitForOutput(/Logs/)
    const doctor = await run('doctor', '--json')
    const { checks } = JSON.parse(doctor.stdout)
    const found = checks.find(({ name }: { name: string }) => name === 'settings')
    expect(found.level).toBe('warn')
    for (const fault of FAULTS) expect(found.message).toContain(fault)
    expect(found.message).not.toContain('"dice"')
  })

  it('is reported by the process that loads the file naming it', async () => {
    await using dir = await project(FILES)
    await using daemon = new RunningSvc(['start'], { cwd: dir.path })
    const says = (fault: string) =>
      daemon.waitForOutput(new RegExp(JSON.stringify(fault).slice(1, -1).replace(/[\\?]/g, '\\$&')))
    for (const fault of FAULTS.slice(2)) await says(fault)
    expect((await svc(['spawn', 'player'], { cwd: dir.path })).code).toBe(0)
    for (const fault of FAULTS.slice(0, 2)) await says(fault)
  })

  it('is reported once by svc doctor without a daemon', async () => {
    await using dir = await project(FILES)
    const { stdout } = await svc(['doctor', '--json'], { cwd: dir.path })
    for (const fault of FAULTS) expect(stdout.split(JSON.stringify(fault).slice(1, -1))).toHaveLength(2)
  })

  it('is not reported when plugin files, which may provide it, are not loaded', async () => {
    await using dir = await project({ ...FILES, 'plugins/dice.ts': PLUGIN })
    const env = { SVC_TRUST_PROJECT: '' }
    expect(await svc(['config', 'validate'], { cwd: dir.path, env })).toMatchObject({ code: 0 })
    const { checks } = JSON.parse((await svc(['doctor', '--json'], { cwd: dir.path, env })).stdout)
    expect(checks.find(({ name }: { name: string }) => name === 'settings')).toMatchObject({ level: 'ok' })
  })
})
