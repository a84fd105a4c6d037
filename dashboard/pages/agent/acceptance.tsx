import { useAction } from '../../api/action.ts'
import { api } from '../../api/client.ts'
import { ActionForm } from '../../ui/action-form.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import type { Goal } from '../../ui/types.ts'

type Criteria = Pick<Goal, 'acceptance'>['acceptance']

const NO_CRITERIA: Criteria = []

/** Fields of a form for the acceptance criteria of a goal, filled with those that it has. */
export function AcceptanceFields({ criteria = NO_CRITERIA }: { criteria?: Criteria }) {
  const lines = (kind: 'command' | 'file' | 'rubric') =>
    criteria.flatMap(each => each[kind]?.replaceAll(/\s*\n\s*/g, ' ') ?? []).join('\n')
  return (
    <fieldset class="stack">
      <legend>Acceptance criteria</legend>
      <label>
        Commands that must exit with 0, one per line
        <textarea name="commands" rows={2} defaultValue={lines('command')} />
      </label>
      <label>
        Files that must exist, one per line
        <textarea name="files" rows={2} defaultValue={lines('file')} />
      </label>
      <label>
        Statements that a model must confirm, one per line
        <textarea name="rubrics" rows={2} defaultValue={lines('rubric')} />
      </label>
      <label class="row">
        <input type="checkbox" name="operator" defaultChecked={criteria.some(({ operator }) => operator)} /> I must
        accept the result
      </label>
    </fieldset>
  )
}

/** Reads these fields. A statement that stays keeps the model that confirms it. */
export function acceptanceIn(form: FormData, criteria = NO_CRITERIA) {
  const lines = (name: string) =>
    String(form.get(name))
      .split('\n')
      .map(line => line.trim())
      .filter(Boolean)
  const modelOf = (rubric: string) => criteria.find(each => each.rubric === rubric)?.model
  return [
    ...lines('commands').map(command => ({ command })),
    ...lines('files').map(file => ({ file })),
    ...lines('rubrics').map(rubric => ({ rubric, model: modelOf(rubric) })),
    ...(form.get('operator') ? [{ operator: true as const }] : []),
  ]
}

/** Dialog that replaces the acceptance criteria of an active goal. */
export function ChangeAcceptance({
  goal: { goal_id, acceptance: criteria },
  onDone,
  onClose,
}: {
  goal: Pick<Goal, 'goal_id' | 'acceptance'>
  onDone: () => Promise<void>
  onClose: () => void
}) {
  const change = useAction(async (form: HTMLFormElement) => {
    await api.goals.update({ goal_id, acceptance: acceptanceIn(new FormData(form), criteria) })
    await onDone()
  }, 'Criteria changed.')
  return (
    <Dialog title="Change the criteria of this goal" onClose={onClose}>
      <ActionForm
        action={change}
        submit="Change criteria"
        onSubmit={async form => (await change.run(form)) && onClose()}
        onCancel={onClose}
      >
        <AcceptanceFields criteria={criteria} />
        <p class="hint">An agent that has begun the goal reads the new criteria before its next step.</p>
      </ActionForm>
    </Dialog>
  )
}
