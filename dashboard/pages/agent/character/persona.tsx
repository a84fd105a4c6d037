import { Card } from '../../../ui/card.tsx'
import { Meter } from '../../../ui/figures/meter.tsx'
import { Tag } from '../../../ui/status.tsx'
import { percent, visible } from '../../../ui/text/format.ts'
import type { Agent } from '../../../ui/types.ts'

const FIELDS = ['happiness', 'concentration', 'autonomy_level', 'social_drive', 'risk_tolerance']

const wordOf = (field: string) => field.replace('_level', '').replaceAll('_', ' ')

/** Current persona of an agent: the five fields that steer its behaviour, its purpose, values and fears. */
export function Persona({ agent: { persona, mood } }: { agent: Agent }) {
  if (!persona) return null
  const fields = FIELDS.filter(field => typeof persona[field] === 'number')
  return (
    <Card title="Current state" aside={mood && <Tag>mood: {visible(mood)}</Tag>}>
      <div class="stack">
        <dl class="bars">
          {fields.map(field => (
            <div key={field}>
              <dt>{wordOf(field)}</dt>
              <dd>
                <Meter label={wordOf(field)} value={Number(persona[field])} high={1.1} />
                <span>{percent(Number(persona[field]))}</span>
              </dd>
            </div>
          ))}
        </dl>
        {typeof persona.purpose === 'string' && persona.purpose && <p>{visible(persona.purpose)}</p>}
        <p class="soft">
          {wordsOf('Values', persona.values)}
          {wordsOf('Fears', persona.fears)}
        </p>
      </div>
    </Card>
  )
}

function wordsOf(title: string, list: unknown): string {
  return Array.isArray(list) && list.length > 0 ? `${title}: ${visible(list.join(', '))}. ` : ''
}
