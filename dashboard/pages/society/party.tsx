import { to } from '../../routes.ts'
import { visible } from '../../ui/text/format.ts'

/** A participant: a live agent links to its page. */
export function Party({ agent_id, name, alive }: { agent_id: string; name: string; alive: boolean }) {
  const words = visible(name)
  return alive && agent_id !== 'operator' ? (
    <a href={to('agents', [agent_id, 'messages'])} title={agent_id}>
      {words}
    </a>
  ) : (
    <span title={agent_id}>{words}</span>
  )
}

/** Participant of which only the id is known. */
export function PartyOf({ id }: { id: string }) {
  return <Party agent_id={id} name={id} alive />
}
