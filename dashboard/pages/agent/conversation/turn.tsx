import type { ComponentChildren } from 'preact'
import { useWaiting } from '../../../api/waiting.ts'
import { to } from '../../../routes.ts'
import type { Attachment } from '../../../ui/attach.tsx'
import { Pictures, Previews } from '../../../ui/figures/pictures.tsx'
import { Status } from '../../../ui/status.tsx'
import { Words } from '../../../ui/text/conversation.tsx'
import { dollars, plural, visible } from '../../../ui/text/format.ts'
import { When } from '../../../ui/time.tsx'
import type { Task } from '../../../ui/types.ts'

/** A running task is shown with its answer so far if it is followed. */
type TurnProps =
  | { task: Task; isLatest: boolean; followed?: { text: string; info: string } | undefined }
  | { writing: { instruction: string; images: readonly Attachment[]; text: string; info: string } }

/** Instruction and answer: of a stored task, or while the answer is written. */
export function Turn(props: TurnProps) {
  if ('writing' in props) {
    const { instruction, images, text, info } = props.writing
    return (
      <>
        <Instruction text={instruction} images={<Previews images={images} />} />
        <li class="by-assistant">
          {text ? <Words text={text} open /> : <span class="soft">{info ? visible(info) : 'Thinking…'}</span>}
        </li>
      </>
    )
  }
  const { followed, isLatest } = props
  const { instruction, images, output, status, error, approval_ids, cost_usd, tool_calls_made, created_at } = props.task
  return (
    <>
      <Instruction text={instruction} images={<Pictures images={images} />} at={created_at} />
      <li class="by-assistant">
        {followed?.text ? (
          <Words text={followed.text} open />
        ) : output ? (
          <Words text={output} open={isLatest} />
        ) : (
          status === 'running' && <span class="soft">{followed?.info ? visible(followed.info) : 'Thinking…'}</span>
        )}
        {status === 'waiting_approval' && <Asked ids={approval_ids} />}
        {status === 'waiting_answer' && <p class="held">The agent asked a question and waits for the answer.</p>}
        {error && <p class="trouble">{visible(error.detail)}</p>}
        <small class="row">
          <Status of={status} /> {tool_calls_made > 0 && plural(tool_calls_made, 'tool call')}{' '}
          {cost_usd > 0 && dollars(cost_usd)}
        </small>
      </li>
    </>
  )
}

/** Approvals that a task waits for, with the names of the tools if the page knows them. */
function Asked({ ids }: { ids: readonly string[] }) {
  const waiting = useWaiting().data ?? []
  return (
    <p class="held">
      A tool call needs your approval:{' '}
      {ids.map(id => (
        <a key={id} href={to('approvals', ['item', id])}>
          {visible(waiting.find(({ approval_id }) => approval_id === id)?.tool_name ?? id)}{' '}
        </a>
      ))}
    </p>
  )
}

function Instruction({ text, images, at }: { text: string; images: ComponentChildren; at?: string }) {
  return (
    <li class="by-user">
      <header>
        <strong>You</strong>
        <small>
          <When at={at} />
        </small>
      </header>
      <Words text={text} />
      {images}
    </li>
  )
}
