/** A message of a transcript, from any module. */
interface TranscriptMessage {
  role: string
  content: string
  tool_calls?: readonly { name: string }[] | undefined
  summary?: unknown
  is_notice?: boolean | undefined
}

/** Returns who wrote a message: its role, except for summaries and for notes that svc added. */
export function writerOf({ role, summary, is_notice }: Pick<TranscriptMessage, 'role' | 'summary' | 'is_notice'>) {
  return summary ? 'summary' : is_notice ? 'note' : role
}

/** Describes a message: its writer, its text and the tools that it calls. */
export function describeMessage(message: TranscriptMessage): string {
  const calls = (message.tool_calls ?? []).map(({ name }) => `→ ${name}`)
  return `${writerOf(message)}: ${[message.content, ...calls].filter(Boolean).join('\n')}`
}
