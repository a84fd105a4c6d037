import { expect, it } from 'vitest'
import { DoctorChecks } from '../../builtins/doctor/contract.ts'
import doctor from '../../builtins/doctor/index.ts'
import { house } from '../support/index.ts'

it('a check of a plugin that throws, rejects or answers with something else has failed, and the others are told', async () => {
  await using home = await house({ builtins: [doctor] })
  const { points } = home.kernel
  const luckless = () => {
    throw new Error('no luck')
  }
  points.add(DoctorChecks, { name: 'throws', run: luckless }, 'careless')
  points.add(DoctorChecks, { name: 'rejects', run: async () => luckless() }, 'careless')
  points.add(DoctorChecks, { name: 'odd', run: async () => ({ level: 'fine' }) as never }, 'careless')
  points.add(DoctorChecks, { name: 'well', run: async () => ({ level: 'ok', message: 'x', remedy: null }) }, 'careful')
  const told = (await home.kernel.invoke('doctor.checks')) as { name: string; level: string; message: string }[]
  const by = Object.fromEntries(told.map(({ name, level, message }) => [name, `${level}: ${message}`]))
  expect(by).toMatchObject({ throws: 'fail: no luck', rejects: 'fail: no luck', well: 'ok: x' })
  expect(by.odd).toMatch(/^fail: The check "odd" is not valid: level: /)
})
