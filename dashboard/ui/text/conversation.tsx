import { useState } from 'preact/hooks'
import { type Picture, Pictures } from '../figures/pictures.tsx'
import { Tag } from '../status.tsx'
import { When } from '../time.tsx'
import { Code } from './code.tsx'
import { visible } from './format.ts'
import { Markdown } from './markdown.tsx'

/** A message of a transcript, from any module. */
export interface ConversationMessage {
  role: 'system' | 'user' | 'assistant' | 'tool'
  content: string
  tool_calls?: readonly { id: string; name: string; arguments: unknown }[] | undefined
  name?: string | undefined
  is_error?: boolean | undefined
  images?: readonly Picture[] | undefined
  /** Set on a message of role user that svc itself added. */
  is_notice?: boolean | undefined
  /** Set if the content is a summary of the messages before it. */
  summary?: unknown
  at?: string | undefined
}

const WHO = { system: 'Instructions', user: 'User', assistant: 'Agent', tool: 'Tool' }
const LONG = 700

function writerOf({ role, summary, is_notice }: ConversationMessage): string {
  return summary ? 'Summary' : is_notice ? 'Note' : WHO[role]
}

/** Conversation, oldest message first, with tool calls and their results. */
export function Conversation({ messages }: { messages: readonly ConversationMessage[] }) {
  return (
    <ol class="said plain">
      {messages.map((message, at) => (
        <li key={at} class={`by-${message.is_notice ? 'system' : message.role}`}>
          <header>
            <strong>{writerOf(message)}</strong>
            {message.name && <code>{visible(message.name)}</code>}
            {message.is_error && <Tag kind="bad">error</Tag>}
            <small>
              <When at={message.at} />
            </small>
          </header>
          {message.content && <Words text={message.content} markdown={message.role === 'assistant'} />}
          <Pictures images={message.images} />
          {message.tool_calls?.map(call => (
            <div key={call.id} class="call">
              calls <code>{visible(call.name)}</code>
              <Code value={call.arguments} label={`Arguments of ${call.name}`} />
            </div>
          ))}
        </li>
      ))}
    </ol>
  )
}

interface WordsProps {
  text: string
  /** Whether all of it is shown at first. */
  open?: boolean
  /** Whether a model wrote it, in Markdown; tool results and messages of people are shown as they are. */
  markdown?: boolean
}

/** Shortens long text, and shows all of it on request. */
export function Words({ text, open = false, markdown = false }: WordsProps) {
  const [whole, setWhole] = useState(open)
  const shown = whole || text.length <= LONG ? text : `${text.slice(0, LONG)}…`
  return (
    <>
      {markdown ? <Markdown text={shown} /> : <Plain text={shown} />}
      {text.length > LONG && (
        <button type="button" class="small quiet" aria-expanded={whole} onClick={() => setWhole(!whole)}>
          {whole ? 'Show less' : `Show all ${text.length.toLocaleString('en')} characters`}
        </button>
      )}
    </>
  )
}

/** Code between fences of backticks; the last block may be cut off before its second fence. */
const FENCED = /^```[\w+#.-]*[ \t]*\n([\s\S]*?)(?:^```[ \t]*(?:\n|$)|(?![\s\S]))/m

/** Text as it is, except that code blocks keep their columns. */
function Plain({ text }: { text: string }) {
  const parts = text.split(FENCED)
  return (
    <>
      {parts.map((part, at) =>
        at % 2 === 1 ? (
          <Code key={at} value={part.trimEnd()} label="Code" />
        ) : (
          part.trim() && (
            <p key={at} class="words">
              {visible(parts.length === 1 ? part : part.trim())}
            </p>
          )
        ),
      )}
    </>
  )
}
