import { expect, it } from 'vitest'
import { Svc } from '../../embed/embed.ts'
import { Operations } from '../../kernel/index.ts'
import { tempDir } from '../support/index.ts'
import { clientSource } from './client-source.ts'

it('the types of the client match those of the operations', async () => {
  await using dir = await tempDir()
  await using svc = await Svc.open(dir.path, { create: true, roles: [], log: { level: 'silent' } })
  await expect(clientSource(svc.kernel.list(Operations))).toMatchFileSnapshot(
    '../../builtins/interfaces/rest/client-operations.ts',
  )
})
