import { type Ports, sentenceOf } from '#kernel'
import { type CommandSpec, UsageError } from './contract.ts'
import { usageOf } from './help.ts'

/** The input with what is in the files that options name. @throws UsageError when one cannot be read, or is not JSON */
export async function withFiles(
  spec: CommandSpec,
  input: Record<string, unknown>,
  files: Ports['files'],
): Promise<Record<string, unknown>> {
  const named = spec.options.filter(({ field, type }) => type === 'file' && typeof input[field] === 'string')
  const read = named.map(async ({ field, name }) => [field, await readJson(spec, name, String(input[field]), files)])
  return { ...input, ...Object.fromEntries(await Promise.all(read)) }
}

async function readJson(spec: CommandSpec, option: string, path: string, files: Ports['files']): Promise<unknown> {
  try {
    return JSON.parse(await files.readFile(path, 'utf8'))
  } catch (error) {
    const problem = error instanceof SyntaxError ? `${path} is not JSON: ${error.message}` : sentenceOf(error)
    throw new UsageError({ problem: `${spec.path.join(' ')}: --${option}: ${problem}`, usage: usageOf(spec) })
  }
}
