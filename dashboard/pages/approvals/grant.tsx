import { useAction } from '../../api/action.ts'
import { api } from '../../api/client.ts'
import { now } from '../../api/clock.ts'
import { ActionForm } from '../../ui/action-form.tsx'
import { focusOnMount } from '../../ui/focus.ts'
import { agentOf } from '../../ui/text/agent-names.ts'
import { visible } from '../../ui/text/format.ts'
import type { Waiting } from '../../ui/types.ts'
import { claimDecision } from './decide.ts'

/** Form that approves this call and lets calls like it run without approval, for a time or a number of uses. */
export function Grant({
  approval: { approval_id, agent_id, agent_name, tool_name, arguments: args },
  onDone,
  onCancel,
}: {
  approval: Waiting
  onDone: () => void
  onCancel: () => void
}) {
  const grant = useAction(async (form: FormData) => {
    const hours = Number(form.get('hours'))
    const uses = Number(form.get('uses'))
    await api.approvals.grant({
      tool_name,
      ...(form.get('who') === 'one' ? { agent: agent_id } : {}),
      ...(form.get('what') === 'same' ? { arguments: args as Record<string, unknown> } : {}),
      ...(hours > 0 ? { until: new Date(now() + hours * 3_600_000).toISOString() } : {}),
      ...(uses > 0 ? { uses } : {}),
    })
    try {
      await api.approvals.decide({ approval_id, decision: 'approve' })
    } catch (error) {
      // The rule itself may have approved the call already.
      const { status } = await api.approvals.show({ approval_id })
      if (status !== 'approved' && status !== 'consumed') throw error
    }
    onDone()
  }, 'Rule added and call approved.')
  const isWhole = typeof args === 'object' && args !== null
  return (
    <ActionForm
      action={grant}
      submit="Add rule and approve"
      onSubmit={form => claimDecision() && grant.run(new FormData(form))}
      onCancel={onCancel}
    >
      <p>
        Allow calls of <code>{visible(tool_name)}</code> without approval
      </p>
      <div class="fields">
        <label>
          Agent
          <select name="who" ref={focusOnMount}>
            <option value="one">{visible(agentOf({ agent_id, agent_name }))} only</option>
            <option value="all">every agent</option>
          </select>
        </label>
        <label>
          Arguments
          <select name="what">
            {isWhole && <option value="same">these arguments only</option>}
            <option value="any">any arguments</option>
          </select>
        </label>
        <label>
          Valid for (hours)
          <input name="hours" type="number" min="0" step="0.5" placeholder="no limit" defaultValue="1" />
        </label>
        <label>
          Maximum uses
          <input name="uses" type="number" min="1" step="1" placeholder="no limit" />
        </label>
      </div>
      <p class="hint">Set at least one of these limits. You can revoke the rule at any time.</p>
    </ActionForm>
  )
}
