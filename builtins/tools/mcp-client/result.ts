import { isDeepStrictEqual } from 'node:util'
import type { ImageSource } from '#core/images/contract'
import { z } from '#kernel'
import { clean, cleanLine, cut } from './clean.ts'

/** Maximum number of content blocks that are read. */
const MOST_BLOCKS = 500

const Block = z.looseObject({ type: z.string() })

/** Result of a call. Unknown kinds of content are accepted. */
export const ToolResult = z.looseObject({
  content: z.array(Block).default([]),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
})
export type ToolResult = z.output<typeof ToolResult>

/**
 * Returns a result as text: other content is named, and structured data is appended as JSON unless a text block
 * contains the same.
 */
export function textOf({ content, structuredContent: data }: ToolResult): string {
  const shown = content.slice(0, MOST_BLOCKS)
  const texts = shown.map(blockText)
  const isSaid = shown.some(({ type, text }) => type === 'text' && typeof text === 'string' && isSame(text, data))
  if (data !== undefined && !isSaid) texts.push(clean(JSON.stringify(data)))
  if (content.length > MOST_BLOCKS) texts.push(`[${content.length - MOST_BLOCKS} more content blocks are left out]`)
  return texts.filter(text => text !== '').join('\n')
}

/** Returns the images among the blocks that are read. The caller decides which to use. */
export function imagesOf({ content }: ToolResult): ImageSource[] {
  return content.slice(0, MOST_BLOCKS).flatMap(({ type, data, resource }) => {
    if (type === 'image' && typeof data === 'string') return [{ data }]
    const { blob, mimeType } = (resource ?? {}) as Record<string, unknown>
    return typeof blob === 'string' && String(mimeType).startsWith('image/') ? [{ data: blob }] : []
  })
}

function blockText(block: z.output<typeof Block>): string {
  const { type, text, data, mimeType, resource, uri, name } = block
  if (type === 'text') return clean(String(text ?? ''))
  if (type === 'resource_link') return `[a link: ${line(name)} ${line(uri)}]`
  if (type === 'resource' && typeof resource === 'object' && resource !== null) {
    const { uri: at, text: inner, blob, mimeType: kind } = resource as Record<string, unknown>
    if (typeof inner === 'string') return `[${line(at)}]\n${clean(inner)}`
    return `[${line(at)}: ${line(kind) || 'bytes'}, ${sizeOf(blob)}, not shown]`
  }
  const shown = type === 'image' && typeof data === 'string' ? '' : ', not shown'
  return `[${line(type)}: ${line(mimeType) || 'bytes'}, ${sizeOf(data)}${shown}]`
}

/** Formats the size of base64 data. */
function sizeOf(base64: unknown): string {
  const bytes = typeof base64 === 'string' ? Math.floor((base64.length * 3) / 4) : 0
  return bytes < 10_000 ? `${bytes} bytes` : `${Math.round(bytes / 1000)} kB`
}

function line(text: unknown): string {
  return typeof text === 'string' ? cut(cleanLine(text), 300) : ''
}

/** Returns whether a text equals the data: as JSON, or as its only value. */
function isSame(text: string, data: unknown): boolean {
  if (typeof data !== 'object' || data === null) return false
  const values = Object.values(data)
  const inside: unknown = values.length === 1 ? values[0] : data
  if (inside === text) return true
  try {
    const value: unknown = JSON.parse(text)
    return isDeepStrictEqual(value, data) || isDeepStrictEqual(value, inside)
  } catch {
    return false
  }
}
