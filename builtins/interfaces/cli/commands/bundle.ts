import { resolve } from 'node:path'
import {
  BadBundleError,
  type Bundle,
  BundleTooLargeError,
  type ImportedAgent,
  LARGEST_BUNDLE,
} from '#core/checkpoints/contract'
import { errorMessage, SvcError } from '#kernel'
import { readProblem } from '#lib/errors'
import { succeeds } from '#lib/succeeds'
import { replaceFile } from '#lib/yaml'
import { FileExistsError } from '#platform/store/contract'
import type { Context, HandWritten } from '../context.ts'
import { CannotWriteError } from '../contract.ts'
import { invokeMasked } from '../operations/invoke-masked.ts'
import { openReading } from '../operations/open-reading.ts'
import { openWithWarnings } from '../process/warnings.ts'
import { findProject } from '../project/project.ts'
import { print, printable, printableJson } from '../screen/printable.ts'

/** Exports an agent to a file. */
export const exportAgent: HandWritten = async ({ id, output, force }, context) => {
  const { terminal, ports } = context
  await using kernel = await openReading(await findProject(context.ports, context.named), context, { roles: ['cli'] })
  const bundle = await invokeMasked<Bundle>(kernel, 'bundles.export', { id })
  const text = JSON.stringify(bundle)
  if (output === '-') {
    terminal.out(printableJson(text))
    return 0
  }
  const { agent } = bundle.content as { agent: { agent_id: string } }
  const file = resolve(output === undefined ? `${agent.agent_id}.svcagent` : String(output))
  const there = await succeeds(ports.files.access(file))
  if (there && force !== true) throw new FileExistsError({ file })
  await replaceFile(ports.files, file, `${text}\n`).catch(error => {
    const remedy = 'name another file with --output'
    throw new CannotWriteError({ path: file, problem: errorMessage(error), remedy }, { cause: error })
  })
  const summary = { agent_id: agent.agent_id, file, bytes: Buffer.byteLength(text) + 1 }
  const size = `${(summary.bytes / 1024).toFixed(1)} KiB`
  const next = 'The file contains what the agent wrote and read. To create an agent from it: svc agent import <file>'
  return print(context, summary, printable(`${file}: ${size}, readable only by you.\n${next}`))
}

/** Imports a new agent from a file. Runs in this process, so the file's size does not matter. */
export const importAgent: HandWritten = async ({ file, preset, model }, context) => {
  const bundle = await readBundle(resolve(String(file)), context)
  await using kernel = await openWithWarnings(await findProject(context.ports, context.named), context)
  const input = { bundle, preset, model }
  const made = await invokeMasked<ImportedAgent>(kernel, 'bundles.import', input)
  const lines = [
    `Imported ${made.was} as ${made.agent_id}, with these parts: ${made.parts.join(', ') || 'none'}`,
    ...(made.profile_written ? [`Its profile was written to ${made.profile_written}`] : []),
    ...(made.left_out.length > 0
      ? [`Parts left out, because their modules are not loaded: ${made.left_out.join(', ')}`]
      : []),
  ]
  return print(context, made, printable(lines.join('\n')))
}

async function readBundle(file: string, { ports }: Context): Promise<unknown> {
  let text: string
  try {
    const found = await ports.files.stat(file)
    const { size } = found
    // A pipe or a device has no size, and may have no end.
    if (!found.isFile()) throw new BadBundleError({ problem: `${file} is not a regular file` })
    if (size > LARGEST_BUNDLE) throw new BundleTooLargeError({ bytes: size, limit: LARGEST_BUNDLE })
    text = await ports.files.readFile(file, 'utf8')
  } catch (error) {
    if (error instanceof SvcError) throw error
    throw new BadBundleError({ problem: `${file} ${readProblem(error)}` }, { cause: error })
  }
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new BadBundleError({ problem: `${file} is not valid JSON, or is incomplete` }, { cause: error })
  }
}
