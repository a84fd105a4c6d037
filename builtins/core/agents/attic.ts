import { dirname, join } from 'node:path'
import type { PluginHandle } from '#kernel'
import { SharedFiles } from '#platform/store/contract'

const FOLDERS = ['workspaces', 'journals', 'memory', 'a2a', 'checkpoints']

/** Moves what an agent that is gone left in files into a folder of `.svc/attic/`, also from where several machines share it. */
export async function toAttic(svc: PluginHandle, agent_id: string): Promise<void> {
  const { ports, project, clock } = svc
  const attic = join(project.svc, 'attic', `${agent_id}-${clock.ms()}`)
  const places = [...FOLDERS.map(folder => [folder, agent_id] as const), ['agent_memory', `${agent_id}.json`] as const]
  for (const [folder, name] of places) {
    const from = join(project.svc, folder, name)
    const there = await ports.files.access(from).then(
      () => true,
      () => false,
    )
    if (!there) continue
    await ports.files.mkdir(attic, { recursive: true, mode: 0o700 })
    await ports.files.rename(from, join(attic, folder))
  }
  if (svc.has(SharedFiles)) await sharedToAttic(svc, svc.use(SharedFiles), agent_id, attic)
}

async function sharedToAttic({ ports }: PluginHandle, shared: SharedFiles, agent_id: string, attic: string) {
  for (const folder of FOLDERS) {
    const place = `${folder}/${agent_id}/`
    for (const { path } of await shared.list(place)) {
      const file = join(attic, folder, path.slice(place.length))
      const { lines } = await shared.lines(path, 0)
      const text = lines.map(({ line }) => `${line}\n`).join('') || ((await shared.read(path))?.text ?? '')
      await ports.files.mkdir(dirname(file), { recursive: true, mode: 0o700 })
      await ports.files.writeFile(file, text, { mode: 0o600 })
      await shared.remove(path)
    }
  }
}
