import type { ComponentChildren } from 'preact'
import { shownStatus } from '../../../../builtins/lib/task-end.ts'
import { api } from '../../../api/client.ts'
import { ofKinds, useQuery } from '../../../api/query.ts'
import type { Attachment } from '../../../ui/attach.tsx'
import { Pictures, Previews } from '../../../ui/figures/pictures.tsx'
import { Loaded } from '../../../ui/states.tsx'
import { Status } from '../../../ui/status.tsx'
import { Words } from '../../../ui/text/conversation.tsx'
import { dollars, plural, visible } from '../../../ui/text/format.ts'
import { When } from '../../../ui/time.tsx'
import type { Task } from '../../../ui/types.ts'
import { Request } from '../../approvals/request.tsx'

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
          {text ? <Words text={text} open markdown /> : <span class="soft">{info ? visible(info) : 'Thinking…'}</span>}
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
          <Words text={followed.text} open markdown />
        ) : output ? (
          <Words text={output} open={isLatest} markdown />
        ) : (
          status === 'running' && <span class="soft">{followed?.info ? visible(followed.info) : 'Thinking…'}</span>
        )}
        {status === 'waiting_approval' && <Asked ids={approval_ids} />}
        {status === 'waiting_answer' && <p class="held">The agent asked a question and waits for the answer.</p>}
        {error && <p class="trouble">{visible(error.detail)}</p>}
        <small class="row">
          <Status of={shownStatus(props.task)} /> {tool_calls_made > 0 && plural(tool_calls_made, 'tool call')}{' '}
          {cost_usd > 0 && dollars(cost_usd)}
        </small>
      </li>
    </>
  )
}

/** Calls that a task waits for, each as it would run, to be decided here. */
function Asked({ ids }: { ids: readonly string[] }) {
  return (
    <>
      <p class="held">{ids.length === 1 ? 'A tool call needs' : 'Tool calls need'} your approval:</p>
      <ul class="plain stack">
        {ids.map(id => (
          <AskedCall key={id} id={id} />
        ))}
      </ul>
    </>
  )
}

function AskedCall({ id }: { id: string }) {
  const query = useQuery(`approval ${id}`, {
    ask: () => api.approvals.show({ approval_id: id }),
    on: ofKinds('approval_'),
  })
  return (
    <Loaded query={query}>
      {approval => <Request approval={approval} isOpen={approval.status === 'pending'} onDecided={query.reload} />}
    </Loaded>
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
