import type { ComponentChildren } from 'preact'
import { Tag } from '../status.tsx'
import { When } from '../time.tsx'
import { Words } from './conversation.tsx'
import { visible } from './format.ts'

interface MessageProps {
  message: { type: string; subject: string; body: string; ts: string }
  from: ComponentChildren
  to: ComponentChildren
}

/** One message between agents, as an item of a list: its type, its sender and recipient, and its text. */
export function Message({ message: { type, subject, body, ts }, from, to }: MessageProps) {
  return (
    <li>
      <div>
        <p>
          <Tag>{type}</Tag> {from} → {to}
        </p>
        {subject && <strong>{visible(subject)}</strong>}
        <Words text={body} />
      </div>
      <small>
        <When at={ts} />
      </small>
    </li>
  )
}
