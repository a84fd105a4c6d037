import { createHash } from 'node:crypto'
import { canonicalJson } from '#core/runtime/contract'
import { z } from '#kernel'
import { clean, cleanLine, cut } from './clean.ts'
import { cleanSchema, LONGEST_SCHEMA } from './schema.ts'
import type { Session } from './session/session.ts'

/** Maximum number of tools read from one server, and maximum number of pages. */
const MOST_TOOLS = 200
const MOST_PAGES = 50
/** Maximum length of a tool's description, in characters. */
const LONGEST_DESCRIPTION = 1_200

/** A tool as its server lists it, cleaned and bounded. */
export const ListedTool = z.object({
  name: z.string(),
  description: z.string(),
  schema: z.record(z.string(), z.unknown()),
  destructive: z.boolean(),
  read_only: z.boolean().default(false).describe('Whether the server declares the tool read-only'),
  repeatable: z.boolean().describe('Whether the server declares the tool read-only or idempotent'),
  hash: z.string().describe('Hash of the complete definition of the tool, before it is shortened'),
})
export type ListedTool = z.output<typeof ListedTool>

const LeftOut = z.object({ name: z.string(), why: z.string() })

export const Listing = z.object({ says_it_is: z.string(), tools: z.array(ListedTool), left_out: z.array(LeftOut) })
export type Listing = z.output<typeof Listing>

const RawTool = z.looseObject({
  name: z.string().min(1).max(128),
  title: z.string().optional(),
  description: z.string().optional(),
  inputSchema: z.record(z.string(), z.unknown()),
  execution: z.looseObject({ taskSupport: z.string().optional() }).optional(),
  annotations: z
    .looseObject({
      title: z.string().optional(),
      readOnlyHint: z.boolean().optional(),
      destructiveHint: z.boolean().optional(),
      idempotentHint: z.boolean().optional(),
    })
    .optional(),
})

/** Returns all usable tools of a server, read page by page. */
export async function readListing(session: Session, signal: AbortSignal): Promise<Listing> {
  const tools = new Map<string, ListedTool>()
  const left_out: Listing['left_out'] = []
  let cursor: string | undefined
  for (let n = 0; n < MOST_PAGES && tools.size < MOST_TOOLS; n++) {
    const page = await session.page(cursor, signal)
    for (const raw of page.tools.slice(0, MOST_TOOLS - tools.size)) {
      const read = readTool(raw)
      if ('why' in read) left_out.push(read)
      else if (tools.has(read.name)) left_out.push({ name: read.name, why: 'the server lists two tools of this name' })
      else tools.set(read.name, read)
    }
    cursor = page.nextCursor
    if (cursor === undefined) break
  }
  if (cursor !== undefined)
    left_out.push({ name: '…', why: `the server has more than ${MOST_TOOLS} tools; the rest is left out` })
  return { says_it_is: session.says_it_is, tools: [...tools.values()], left_out: left_out.slice(0, MOST_TOOLS) }
}

function readTool(raw: unknown): ListedTool | Listing['left_out'][number] {
  const parsed = RawTool.safeParse(raw)
  if (!parsed.success) {
    const { name } = raw as { name?: unknown }
    return { name: cut(cleanLine(String(name ?? '?')), 100), why: 'its definition is not valid' }
  }
  const { name, title, description, inputSchema, execution, annotations = {} } = parsed.data
  const shown = cleanLine(name)
  if (shown !== name) return { name: shown, why: 'its name contains invisible characters or extra spaces' }
  if (execution?.taskSupport === 'required')
    return { name, why: 'it runs only as a background task of the protocol, which is not supported' }
  const schema = cleanSchema(inputSchema)
  if (!schema) return { name, why: `its argument schema is nested too deeply, or exceeds ${LONGEST_SCHEMA} characters` }
  const definition = jsonOf({ name, title, description, inputSchema, annotations })
  if (definition === undefined) return { name, why: 'its annotations are nested too deeply' }
  return {
    name,
    schema,
    description: cut(clean(description || title || annotations.title || name).trim(), LONGEST_DESCRIPTION),
    // A read-only tool is not destructive, even if the server says so.
    destructive: annotations.destructiveHint === true && annotations.readOnlyHint !== true,
    read_only: annotations.readOnlyHint === true,
    repeatable: annotations.readOnlyHint === true || annotations.idempotentHint === true,
    hash: createHash('sha256').update(definition).digest('hex'),
  }
}

/** Returns canonical JSON; undefined for a value whose nesting exceeds the stack. */
function jsonOf(value: unknown): string | undefined {
  try {
    return canonicalJson(value)
  } catch {
    return undefined
  }
}
