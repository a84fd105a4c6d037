import { isUtf8 } from 'node:buffer'
import { basename, extname, join, relative } from 'node:path'
import { type AgentRow, agentReach } from '#core/agents/contract'
import type { PluginHandle } from '#kernel'
import { GuardrailBlockedError, Guardrails } from '#safety/guardrails/contract'
import { Jail, type Reach } from '#safety/sandbox/contract'
import { ToolError } from '#tools/toolkits/contract'
import type { SentFiles } from './contract.ts'

/** Maximum size of all files of a message together, in bytes. */
const MOST_BYTES = 5_000_000
/** Folder below that of the recipient, with a subfolder for each sender. */
const INBOX = 'inbox'

/**
 * Copies the files of a message into its recipient's own folder; see `Draft`.
 * @param recipient undefined for the operator
 * @returns a paragraph that says where the files are; empty without files
 * @throws ToolError, GuardrailBlockedError, OutsideError and PathError; nothing was copied then
 */
export async function sendFiles(
  svc: PluginHandle,
  recipient: AgentRow | undefined,
  files: SentFiles | undefined,
): Promise<string> {
  if (!files?.paths.length) return ''
  const { call, paths } = files
  if (!recipient) {
    const found = await Promise.all(paths.map(path => jailOf(svc).resolve(call, path)))
    return `\n\nFiles: ${found.map(({ real }) => real).join(', ')}`
  }
  const { workspace, scratch } = agentReach(svc.project, recipient)
  const copies = await copyFiles(svc, recipient, files)
  // Relative paths begin in the workspace, which may be a folder of the operator.
  const shown = workspace === scratch ? copies.map(path => relative(scratch, path)) : copies
  return `\n\nFiles, copied into your own folder: ${shown.join(', ')}`
}

/** Copies files into an agent's own folder; see `Mail.copyFiles`. */
export async function copyFiles(svc: PluginHandle, recipient: AgentRow, { call, paths }: SentFiles): Promise<string[]> {
  const jail = jailOf(svc)
  const { scratch } = agentReach(svc.project, recipient)
  const copies: string[] = []
  for (const [name, bytes] of await contentsOf(svc, call, paths))
    copies.push(await put(jail, { workspace: scratch }, join(scratch, INBOX, call.agent_id, name), bytes))
  return copies
}

function jailOf(svc: PluginHandle): Jail {
  if (!svc.has(Jail)) throw new ToolError({ problem: 'Files cannot be sent here; put their text into the message.' })
  return svc.use(Jail)
}

/** Returns the names and contents of files; guardrails check text as they check the message. */
async function contentsOf(
  svc: PluginHandle,
  call: SentFiles['call'],
  paths: readonly string[],
): Promise<[string, Buffer][]> {
  const contents: [string, Buffer][] = []
  let left = MOST_BYTES
  for (const path of paths) {
    const handle = await svc.use(Jail).open(call, path)
    try {
      left -= (await handle.stat()).size
      if (left < 0) throw new ToolError({ problem: `With ${JSON.stringify(path)} the files have more than 5 MB.` })
      contents.push([basename(path), await checkContent(svc, call, await handle.readFile())])
    } finally {
      await handle.close()
    }
  }
  return contents
}

async function checkContent(svc: PluginHandle, { agent_id }: SentFiles['call'], bytes: Buffer): Promise<Buffer> {
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
