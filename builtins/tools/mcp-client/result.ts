import { isDeepStrictEqual } from 'node:util'
import type { ImageSource } from '#core/images/contract'
import { z } from '#kernel'
import { clean, cleanLine, cut } from './clean.ts'

/** Pieces of a result that are looked at. */
const MOST_BLOCKS = 500

const Block = z.looseObject({ type: z.string() })

/** What a call gives, as far as it matters here: kinds of content that are not known yet do not spoil the others. */
export const ToolResult = z.looseObject({
  content: z.array(Block).default([]),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
})
export type ToolResult = z.output<typeof ToolResult>

/** A result as text: what is no text is named, and what is data stands there as JSON unless a text says just that. */
export function textOf({ content, structuredContent: data }: ToolResult): string {
  const shown = content.slice(0, MOST_BLOCKS)
  const texts = shown.map(blockText)
  const isSaid = shown.some(({ type, text }) => type === 'text' && typeof text === 'string' && isSame(text, data))
  if (data !== undefined && !isSaid) texts.push(clean(JSON.stringify(data)))
  if (content.length > MOST_BLOCKS) texts.push(`[${content.length - MOST_BLOCKS} more pieces are left out]`)
  return texts.filter(text => text !== '').join('\n')
}

/** The images of a result, of those that are looked at. Which of them are taken is not decided here. */
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

/** Of bytes in base64. */
function sizeOf(base64: unknown): string {
  const bytes = typeof base64 === 'string' ? Math.floor((base64.length * 3) / 4) : 0
  return bytes < 10_000 ? `${bytes} bytes` : `${Math.round(bytes / 1000)} kB`
}

function line(text: unknown): string {
  return typeof text === 'string' ? cut(cleanLine(text), 300) : ''
}

/** Whether a text says what the data is: as JSON, or being all that there is in it. */
function isSame(text: string, data: unknown): boolean {
  if (typeof data !== 'object' || data === null) return false
  const values = Object.values(data)
  const inside: unknown = values.length === 1 ? values[0] : data
  if (inside === text) return true
  try {
    const said: unknown = JSON.parse(text)
    return isDeepStrictEqual(said, data) || isDeepStrictEqual(said, inside)
  } catch {
    return false
  }
}
