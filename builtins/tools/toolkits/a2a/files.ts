import { isUtf8 } from 'node:buffer'
import { basename, extname } from 'node:path'
import { Agents, agentReach } from '#core/agents/contract'
import type { PluginHandle } from '#kernel'
import { GuardrailBlockedError, Guardrails } from '#safety/guardrails/contract'
import { Jail, type Reach } from '#safety/sandbox/contract'
import { OPERATOR } from '#society/a2a/contract'
import { type ToolCall, ToolError } from '#tools/toolkits/contract'

/** Maximum size of all files of a message together, in bytes. */
const MOST_BYTES = 5_000_000
/** Folder below that of the recipient, with a subfolder for each sender. */
const INBOX = 'inbox'

/**
 * Copies files of the sender into the recipient's own folder, which the sender cannot reach otherwise. Nothing there is
 * replaced: a file of the same name gets a number. The operator can open the files where they are.
 * @param to id or name of an agent, or the operator
 * @returns what the message says of them; empty without files
 * @throws ToolError, GuardrailBlockedError, AgentNotFoundError, OutsideError and PathError; nothing was copied then
 */
export async function sendFiles(
  svc: PluginHandle,
  call: ToolCall,
  to: string,
  paths: readonly string[],
): Promise<string> {
  if (paths.length === 0) return ''
  if (!svc.has(Jail)) throw new ToolError({ problem: 'Files cannot be sent here; put their text into the message.' })
  const jail = svc.use(Jail)
  if (to === OPERATOR) {
    await contentsOf(svc, call, paths)
    const found = await Promise.all(paths.map(path => jail.resolve(call, path)))
    return `\n\nFiles: ${found.map(({ real }) => real).join(', ')}`
  }
  const { scratch } = agentReach(svc.project, await svc.use(Agents).find(to))
  const folder = `${INBOX}/${call.agent_id}`
  const names: string[] = []
  for (const [name, bytes] of await contentsOf(svc, call, paths))
    names.push(await put(jail, { workspace: scratch }, `${folder}/${name}`, bytes))
  return `\n\nFiles, copied into your own folder: ${names.join(', ')}`
}

/** Returns the names and contents of files; guardrails check text as they check the message. */
async function contentsOf(svc: PluginHandle, call: ToolCall, paths: readonly string[]): Promise<[string, Buffer][]> {
  const contents: [string, Buffer][] = []
  let left = MOST_BYTES
  for (const path of paths) {
    const handle = await svc.use(Jail).open(call, path)
    try {
      left -= (await handle.stat()).size
      if (left < 0) throw new ToolError({ problem: `With ${JSON.stringify(path)} the files have more than 5 MB.` })
      contents.push([basename(path), await checked(svc, call, await handle.readFile())])
    } finally {
      await handle.close()
    }
  }
  return contents
}

async function checked(svc: PluginHandle, { agent_id }: ToolCall, bytes: Buffer): Promise<Buffer> {
  if (!svc.has(Guardrails) || !isUtf8(bytes)) return bytes
  const { action, text, findings } = await svc.use(Guardrails).check('peer', bytes.toString(), { agent_id })
  if (action === 'block')
    throw new GuardrailBlockedError({ stage: 'file', kinds: [...new Set(findings.map(({ kind }) => kind))] })
  return action === 'redact' ? Buffer.from(text) : bytes
}

/** Creates a file under a name that is free, or that has the same content. @returns its path */
async function put(jail: Jail, reach: Reach, path: string, bytes: Buffer): Promise<string> {
  const end = extname(path)
  for (let n = 1; ; n++) {
    const free = n === 1 ? path : `${path.slice(0, path.length - end.length)}-${n}${end}`
    if (!(await jail.resolve(reach, free)).exists) {
      await jail.replace(reach, free, bytes)
      return free
    }
    const handle = await jail.open(reach, free)
    try {
      if (bytes.equals(await handle.readFile())) return free
    } finally {
      await handle.close()
    }
  }
}
