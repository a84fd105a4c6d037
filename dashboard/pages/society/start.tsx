import { useState } from 'preact/hooks'
import { useAction } from '../../api/action.ts'
import { api } from '../../api/client.ts'
import { ofKinds, useQuery } from '../../api/query.ts'
import { go, to } from '../../routes.ts'
import { ActionForm } from '../../ui/action-form.tsx'
import { Loaded } from '../../ui/states.tsx'
import { labelOf, sharedNames } from '../../ui/text/agent-names.ts'
import { plural, visible } from '../../ui/text/format.ts'
import type { Item } from '../../ui/types.ts'

/** Form that starts a collaboration pattern. */
export function Start() {
  const [open, setOpen] = useState(false)
  return (
    <details class="card" open={open} onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>Start a pattern</summary>
      {open && <Ready />}
    </details>
  )
}

function Ready() {
  const patterns = useQuery('patterns', { ask: () => api.patterns.list(), on: ofKinds('plugin_') })
  const agents = useQuery('agents', { ask: () => api.agents.list({ all: false }), on: ofKinds('agent_') })
  return (
    <Loaded query={patterns}>
      {found => (
        <Loaded query={agents}>
          {all => {
            const alive = all.filter(({ status }) => status !== 'dead')
            return alive.length < 2 ? (
              <p class="soft">A pattern needs at least two agents. Spawn them first.</p>
            ) : (
              <Form patterns={found} agents={alive} />
            )
          }}
        </Loaded>
      )}
    </Loaded>
  )
}

interface FormProps {
  patterns: readonly Item<'patterns.list'>[]
  agents: readonly Item<'agents.list'>[]
}

function Form({ patterns, agents }: FormProps) {
  const [name, setName] = useState(patterns[0]?.name ?? '')
  const [initiator, setInitiator] = useState(agents[0]!.agent_id)
  const shared = sharedNames(agents)
  const pattern = patterns.find(each => each.name === name)
  const start = useAction(async (element: HTMLFormElement) => {
    const form = new FormData(element)
    const budget = String(form.get('budget_usd'))
    const { pattern_id } = await api.patterns.start({
      name,
      initiator,
      task: String(form.get('task')),
      participants: form.getAll('participants').map(String),
      rounds: Number(form.get('rounds')),
      ...(budget ? { budget_usd: Number(budget) } : {}),
    })
    go(to('society', ['patterns', pattern_id]))
  }, 'Started.')
  return (
    <ActionForm action={start} submit="Start" onSubmit={start.run}>
      <div class="fields">
        <label>
          Pattern
          <select value={name} onChange={event => setName(event.currentTarget.value)}>
            {patterns.map(each => (
              <option key={each.name}>{each.name}</option>
            ))}
          </select>
        </label>
        <label>
          Initiator
          <select value={initiator} onChange={event => setInitiator(event.currentTarget.value)}>
            {agents.map(agent => (
              <option key={agent.agent_id} value={agent.agent_id}>
                {visible(labelOf(agent, shared))}
              </option>
            ))}
          </select>
        </label>
        <label>
          Maximum rounds
          <input
            key={name}
            name="rounds"
            type="number"
            min="1"
            max="10"
            defaultValue={String(pattern?.rounds ?? 1)}
            required
          />
        </label>
        <label>
          Budget in dollars
          <input name="budget_usd" type="number" min="0" step="any" placeholder="default" />
        </label>
      </div>
      {pattern && <p class="hint">{visible(pattern.summary)}.</p>}
      <fieldset>
        <legend>{pattern ? takes(pattern) : 'Participants'}</legend>
        <div class="choices">
          {agents
            .filter(({ agent_id }) => agent_id !== initiator)
            .map(agent => (
              <label key={agent.agent_id}>
                <input type="checkbox" name="participants" value={agent.agent_id} />
                <span title={agent.agent_id}>{visible(labelOf(agent, shared))}</span>
              </label>
            ))}
        </div>
      </fieldset>
      <label>
        Task
        <textarea name="task" rows={3} required maxLength={8000} />
      </label>
    </ActionForm>
  )
}

function takes({ min, max }: { min: number; max: number }): string {
  return `Participants: ${min === max ? plural(min, 'agent') : `${min} to ${max} agents`}`
}
