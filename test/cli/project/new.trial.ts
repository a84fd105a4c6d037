import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { PLUGIN_KINDS } from '#interfaces/cli/scaffold/kinds'
import { install, tsc, vitest } from '../../spec/authors.ts'
import { tempDir } from '../../support/temp.ts'
import { svc } from '../../support/vitest/warm.ts'
import { writeAll } from './scaffolds.ts'

it('svc new plugin writes plugins that type-check and pass their tests where the package and vitest are installed', async () => {
  await using dir = await tempDir()
  await install(dir.path, 'svc', '@types/node')
  await svc(['init', '--quiet'], { cwd: dir.path })
  expect(await readFile(join(dir.path, 'tsconfig.json'), 'utf8')).not.toContain(dir.path)
  await writeAll(dir)
  await install(dir.path, 'vitest')
  const [types, tests] = await Promise.all([tsc(dir.path), vitest(dir.path)])
  expect(types).toEqual({ code: 0, output: '' })
  expect(tests.output).toMatch(new RegExp(`Tests +${PLUGIN_KINDS.length} passed`))
  expect(tests.code).toBe(0)
})
