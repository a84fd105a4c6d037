import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { describe, expect, it, onTestFinished } from 'vitest'
import { MODULES } from '../../build/modules.js'
import * as earlier from '../../embed/deprecated.ts'
import * as moved from '../../embed/moved.ts'
import * as known from '../../embed/public.ts'
import manifest from '../../package.json' with { type: 'json' }
import { packInto } from '../bench/package.ts'
import { install, ROOT, tsc } from '../spec/authors.ts'
import { FAST, project } from './project.ts'

const run = promisify(execFile)

/** Creates a project with the package as npm installs it: only its dependencies and the types of Node are there. */
async function installed(files: Readonly<Record<string, string>>) {
  const dir = await project({ ...FAST, ...files, 'package.json': '{"type": "module"}' })
  onTestFinished(() => dir[Symbol.asyncDispose]())
  await packInto(join(dir.path, 'node_modules/svc'))
  await install(dir.path, ...Object.keys(manifest.dependencies), '@types/node')
  return dir.path
}

const NAMES = ['svc', ...['client', 'testing', ...Object.keys(MODULES)].map(name => `svc/${name}`)]
const TSCONFIG = JSON.stringify({
  compilerOptions: {
    target: 'es2022',
    lib: ['es2023', 'esnext.disposable'],
    module: 'nodenext',
    strict: true,
    noEmit: true,
    types: ['node'],
    checkJs: true,
  },
  include: ['*.ts', '*.mjs', 'plugins/*.ts'],
})

describe('bundling the package', () => {
  const bundle = (entry: string, more: object = {}) =>
    build({
      stdin: { contents: `export * from '${entry}'`, resolveDir: ROOT },
      bundle: true,
      platform: 'node' as const,
      format: 'esm' as const,
      write: false,
      logLevel: 'silent' as const,
      ...more,
    })

  it('fails with the advice to keep it external: the package reads files beside its own', async () => {
    await expect(bundle('svc')).rejects.toThrow('svc cannot be bundled, as it reads files beside its own')
    expect((await bundle('svc', { external: ['svc'] })).errors).toEqual([])
  })

  it('works for the client', async () => {
    const { outputFiles } = await bundle('svc/client', { platform: 'browser' })
    expect(outputFiles[0]!.text).toContain('createClient')
  })
})

describe('the package as npm installs it', () => {
  it('loads under each of its names, and svc exports at most 80 values that are not deprecated', async () => {
    const cwd = await installed({
      'names.mjs': `const found = {}
        for (const name of ${JSON.stringify(NAMES)}) found[name] = Object.keys(await import(name))
        console.log(JSON.stringify(found))`,
    })
    const { stdout } = await run(process.execPath, ['names.mjs'], { cwd })
    const found = JSON.parse(stdout) as Record<string, string[]>
    expect(Object.keys(found).filter(name => found[name]!.length === 0)).toEqual([])
    const deprecated = Object.keys({ ...earlier, ...moved }).filter(name => !(name in known))
    const values = found.svc!.filter(name => !deprecated.includes(name))
    expect(values.sort()).toEqual(Object.keys(known).sort())
    expect(values.length).toBeLessThanOrEqual(80)
  })

  it('has types under each of its names, and the hooks of plugins and embedders work as typed', async () => {
    const cwd = await installed({
      'tsconfig.json': TSCONFIG,
      'names.ts': NAMES.map((name, n) => `import * as m${n} from '${name}'\nexport { m${n} }`).join('\n'),
      'wrong.ts': `import { Store } from 'svc/store'\nexport const name: number = Store.name`,
      'plugins/listener.ts': `import { definePlugin } from 'svc'
        export default definePlugin({
          name: 'listener',
          setup(svc) {
            svc.on('agent_spawned', ({ agent_id }) => console.log('plugin', agent_id.replace(/-.*/, '')))
          },
        })`,
      'program.mjs': `import { Svc } from 'svc'
        const svc = await Svc.open('.', { log: { level: 'silent' } })
        /** @param {{ agent_id: string }} event */
        const listen = ({ agent_id }) => console.log('program', agent_id.replace(/-.*/, ''))
        svc.hooks.on('agent_spawned', listen)
        await svc.spawn('coder')
        svc.hooks.off('agent_spawned', listen)
        await svc.spawn('writer')
        const undo = svc.hooks.on('phase_enter', ({ phase }) => console.log(phase))
        svc.hooks.registerGuard('goal_generation', { shouldProceed: ({ at }) => at.getHours() > 24 })
        await svc.start({ cycles: 1 })
        await undo()
        await svc.close()`,
    })
    const { output } = await tsc(cwd)
    expect(output.trim().split('\n')).toEqual([
      expect.stringMatching(/^wrong\.ts\(2,\d+\): .*'string' is not assignable/),
    ])
    const { stdout } = await run(process.execPath, ['program.mjs'], { cwd })
    const lines = stdout.trim().split('\n')
    expect(lines.filter(line => line.includes(' ')).sort()).toEqual(['plugin coder', 'plugin writer', 'program coder'])
    expect(lines).toContain('context_assembly')
    expect(lines).not.toContain('goal_generation')
  })
})
