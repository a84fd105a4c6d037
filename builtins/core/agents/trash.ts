import { dirname, join } from 'node:path'
import type { PluginHandle } from '#kernel'
import { succeeds } from '#lib/succeeds'
import { RetentionRules } from '#platform/retention/contract'
import { SharedFiles } from '#platform/store/contract'

const FOLDERS = ['workspaces', 'journals', 'memory', 'a2a', 'checkpoints']

/** Moves the files of a deleted agent to a folder of `.svc/trash/`, also from storage that several machines share. */
export async function moveToTrash(svc: PluginHandle, agent_id: string): Promise<void> {
  const { ports, project, clock } = svc
  const trash = join(project.svc, 'trash', `${agent_id}-${clock.ms()}`)
  const places = [...FOLDERS.map(folder => [folder, agent_id] as const), ['agent_memory', `${agent_id}.json`] as const]
  for (const [folder, name] of places) {
    const from = join(project.svc, folder, name)
    const there = await succeeds(ports.files.access(from))
    if (!there) continue
    await ports.files.mkdir(trash, { recursive: true, mode: 0o700 })
    await ports.files.rename(from, join(trash, folder))
  }
  if (svc.has(SharedFiles)) await moveSharedToTrash(svc, svc.use(SharedFiles), agent_id, trash)
}

/** Registers the retention of the trash. Each folder's name ends with the time of the deletion, in milliseconds. */
export function trashForgets(svc: PluginHandle): void {
  const { files } = svc.ports
  const trash = join(svc.project.svc, 'trash')
  const old = async (before: number) =>
    (await files.readdir(trash).catch(() => [])).filter(name => Number(/-(\d+)$/.exec(name)?.[1]) < before)
  svc.add(RetentionRules, {
    name: 'trash',
    // After the rule that removes sub-agents, whose files come here.
    stage: 1,
    count: async before => (await old(before)).length,
    async piece(before, limit) {
      const names = (await old(before)).slice(0, limit)
      for (const name of names) await files.rm(join(trash, name), { recursive: true, force: true })
      return names.length
    },
  })
}

async function moveSharedToTrash({ ports }: PluginHandle, shared: SharedFiles, agent_id: string, trash: string) {
  for (const folder of FOLDERS) {
    const place = `${folder}/${agent_id}/`
    for (const { path } of await shared.list(place)) {
      const file = join(trash, folder, path.slice(place.length))
      const { lines } = await shared.lines(path, 0)
      const text = lines.map(({ line }) => `${line}\n`).join('') || ((await shared.read(path))?.text ?? '')
      await ports.files.mkdir(dirname(file), { recursive: true, mode: 0o700 })
      await ports.files.writeFile(file, text, { mode: 0o600 })
      await shared.remove(path)
    }
  }
}
